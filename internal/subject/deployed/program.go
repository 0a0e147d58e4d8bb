package deployed

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// inspect returns the architecture of a static program for Linux. It fails for anything else, and says what to do.
func inspect(program string) (string, error) {
	info, err := os.Stat(program)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("there is no such file")
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a file")
	}
	file, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // it was only read
	if err = foreign(file); err != nil {
		return "", err
	}
	image, err := elf.NewFile(file)
	if err != nil {
		return "", fmt.Errorf("not a program that Linux can run: %w", err)
	}
	architecture := architectureOf(image)
	switch {
	case image.OSABI != elf.ELFOSABI_NONE && image.OSABI != elf.ELFOSABI_LINUX:
		return "", fmt.Errorf("it is a program for a system other than Linux (%s); build it with %s", image.OSABI, buildCommand(""))
	case image.Type != elf.ET_EXEC && image.Type != elf.ET_DYN:
		return "", fmt.Errorf("it is only a part of a program (%s)", image.Type)
	case architecture == "":
		return "", fmt.Errorf("it is for an architecture that Kubernetes has no name for (%s)", image.Machine)
	}
	for _, part := range image.Progs {
		if part.Type == elf.PT_INTERP {
			interpreter, _ := io.ReadAll(part.Open())
			return "", fmt.Errorf("it is dynamically linked and needs %s, which an image of only the program lacks; build it with %s, or give an image instead",
				bytes.TrimRight(interpreter, "\x00"), buildCommand(architecture))
		}
	}
	return architecture, nil
}

// foreign recognises programs for other systems by how they begin.
func foreign(file io.ReaderAt) error {
	magic := make([]byte, 4)
	if _, err := file.ReadAt(magic, 0); err != nil {
		return errors.New("it is too short to be a program")
	}
	system := ""
	switch {
	case bytes.HasPrefix(magic, []byte("MZ")):
		system = "Windows"
	case binary.LittleEndian.Uint32(magic)|1 == 0xfeedfacf, binary.BigEndian.Uint32(magic) == 0xcafebabe:
		system = "macOS"
	case bytes.HasPrefix(magic, []byte("#!")):
		return errors.New("it is a script, and an image of only the script has no interpreter; give an image instead")
	default:
		return nil
	}
	return fmt.Errorf("it is a program for %s, but nodes run Linux; build it with %s, or give an image instead", system, buildCommand(""))
}

// buildCommand is how Go programs are built so that they are static. Without an architecture it is that of this machine.
func buildCommand(architecture string) string {
	if architecture == "" {
		return "CGO_ENABLED=0 GOOS=linux go build"
	}
	return "CGO_ENABLED=0 GOOS=linux GOARCH=" + architecture + " go build"
}

// architectureOf returns the architecture of a program as Go and Kubernetes call it, or nothing.
func architectureOf(image *elf.File) string {
	if image.Machine == elf.EM_PPC64 && image.ByteOrder == binary.LittleEndian {
		return "ppc64le"
	}
	return map[elf.Machine]string{
		elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_ARM: "arm", elf.EM_386: "386", elf.EM_RISCV: "riscv64", elf.EM_S390: "s390x", elf.EM_PPC64: "ppc64",
	}[image.Machine]
}
