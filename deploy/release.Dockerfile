# The image of a release, for each platform: what Dockerfile makes of a build of one's own.
FROM scratch
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/crdconform /crdconform
USER 65532:65532
WORKDIR /reports
ENTRYPOINT ["/crdconform"]
