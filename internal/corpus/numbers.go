package corpus

import (
	"math"
	"slices"
)

// allowsNull reports whether null is allowed.
func (n *node) allowsNull() bool {
	return n.nullable && (n.enum == nil || slices.Contains(n.enum, nil))
}

// accepts reports whether a scalar keeps to the limits of a place. Of maps and lists it knows nothing.
func (n *node) accepts(value any) bool {
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(allowed any) bool { return equal(allowed, value) || encoded(allowed) == encoded(value) }) {
		return false
	}
	switch value := value.(type) {
	case nil:
		return n.nullable
	case string:
		return (n.kind == text || n.kind == intOrString || n.kind == anything) && n.acceptsText(value)
	case int64:
		return (n.kind == integer || n.kind == number || n.kind == intOrString || n.kind == anything) && n.allowsInteger(value)
	case float64:
		return (n.kind == number || n.kind == anything) && n.inRange(value) && n.isMultiple(value)
	case bool:
		return n.kind == boolean || n.kind == anything
	}
	return true
}

// allowsInteger reports whether an integer keeps to all limits. API servers cut the fraction of a limit off before they
// compare an integer with it, which matters where the limit itself is not allowed.
func (n *node) allowsInteger(value int64) bool {
	switch {
	case n.aboveMinimum && n.minimum != nil && value <= clamped(*n.minimum),
		n.belowLimit && n.maximum != nil && value >= clamped(*n.maximum),
		n.format == "int32" && (value < math.MinInt32 || value > math.MaxInt32):
		return false
	}
	return n.inRange(float64(value)) && n.isMultiple(value)
}

// isMultiple reports whether a number is a multiple of what it must be. API servers take no notice of the fraction of what
// an integer must be a multiple of.
func (n *node) isMultiple(value any) bool {
	for _, factor := range n.multiples {
		switch value := value.(type) {
		case int64:
			if whole := int64(factor); whole <= 0 || value%whole != 0 {
				return false
			}
		case float64:
			if quotient := value / factor; quotient != math.Trunc(quotient) || math.Abs(quotient) >= 1<<53 {
				return false
			}
		}
	}
	return true
}

// inRange reports whether a number keeps to the limits.
func (n *node) inRange(value float64) bool {
	if l := n.minimum; l != nil && (value < *l || n.aboveMinimum && value == *l) {
		return false
	}
	if l := n.maximum; l != nil && (value > *l || n.belowLimit && value == *l) {
		return false
	}
	return n.format != "float" || math.Abs(value) <= math.MaxFloat32
}

// bounds are the least and the greatest integer that the limits allow.
func (n *node) bounds() (lowest, highest int64) {
	lowest, highest = math.MinInt64, math.MaxInt64
	if n.format == "int32" || n.kind == intOrString && !n.quantity {
		lowest, highest = math.MinInt32, math.MaxInt32
	}
	if n.minimum != nil {
		lowest = max(lowest, clamped(math.Ceil(*n.minimum)))
		if n.aboveMinimum && float64(lowest) == *n.minimum && lowest < math.MaxInt64 {
			lowest++
		}
	}
	if n.maximum != nil {
		highest = min(highest, clamped(math.Floor(*n.maximum)))
		if n.belowLimit && float64(highest) == *n.maximum && highest > math.MinInt64 {
			highest--
		}
	}
	return lowest, highest
}

// clamped is the integer nearest to a number.
func clamped(value float64) int64 {
	switch {
	case value >= math.MaxInt64:
		return math.MaxInt64
	case value <= math.MinInt64:
		return math.MinInt64
	}
	return int64(value)
}

// step is what integers must be multiples of.
func (n *node) step() int64 {
	step := int64(1)
	for _, factor := range n.multiples {
		if whole := int64(factor); whole >= 1 {
			step = lcm(step, whole)
		}
	}
	return step
}

func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

// integer makes an integer.
func (m *maker) integer(n *node) int64 {
	level := m.g.places[n.id].level
	var wanted []int64
	switch m.style {
	case Zeros:
		wanted = []int64{0}
	case Integers:
		wanted = n.extremes(level)
	default:
		wanted = n.small(m)
	}
	allowed := n.integersFrom(wanted)
	if len(allowed) == 0 {
		allowed = n.integersFrom(append(n.small(m), n.anyInteger()...))
	}
	if len(allowed) == 0 {
		m.doubt = true
		return 0
	}
	return one(m, allowed)
}

// extremes are integers that a program may not be able to hold: of 64 bits, of 32 bits, or small ones.
func (n *node) extremes(level int) []int64 {
	lowest, highest := n.bounds()
	switch {
	case n.kind != integer: // the kinds of others are not about size
	case level == 1:
		lowest, highest = max(lowest, math.MinInt32), min(highest, math.MaxInt32)
	case level > 1:
		return []int64{max(lowest, 1), min(highest, max(lowest, 1)+9)}
	}
	if lowest > highest {
		return nil
	}
	const exact = int64(1) << 53 // the first integer after which floating point has gaps
	step := n.step()
	wanted := []int64{up(lowest, step), down(highest, step)}
	for _, value := range append(overflowing(), exact+1, -exact-1, -step) { // -1 often stands for no limit
		if value > lowest && value < highest {
			wanted = append(wanted, value)
		}
	}
	return wanted
}

// overflowing are the fewest days, hours and minutes that are more seconds than 32 bits hold, and seconds that are more milliseconds.
func overflowing() []int64 {
	const seconds = math.MaxInt32
	return []int64{seconds/(24*60*60) + 1, seconds/(60*60) + 1, seconds/60 + 1, seconds/1000 + 1}
}

// small are integers that users write.
func (n *node) small(m *maker) []int64 {
	lowest, highest := n.bounds()
	if lowest > highest {
		return nil
	}
	step := n.step()
	first := max(lowest, 1)
	if first > highest {
		return []int64{down(highest, step), down(highest-min(int64(m.rng.IntN(50)), highest-lowest), step)}
	}
	first = up(first, step)
	last := highest
	if room := highest - first; room > 98*step || room < 0 {
		last = first + 98*step
	}
	if last < first {
		return nil
	}
	return []int64{first + int64(m.rng.IntN(int((last-first)/step)+1))*step}
}

// up and down are the nearest multiples of a step.
func up(value, step int64) int64 {
	if rest := value % step; rest > 0 && value <= math.MaxInt64-step {
		return value - rest + step
	} else if rest != 0 {
		return value - rest
	}
	return value
}

func down(value, step int64) int64 {
	if rest := value % step; rest < 0 && value >= math.MinInt64+step {
		return value - rest - step
	} else if rest != 0 {
		return value - rest
	}
	return value
}

// anyInteger are integers of which one is allowed, if any is.
func (n *node) anyInteger() []int64 {
	lowest, highest := n.bounds()
	if lowest > highest {
		return nil
	}
	step := n.step()
	return []int64{0, 1, up(lowest, step), down(highest, step), lowest, highest}
}

// integersFrom are those that are allowed.
func (n *node) integersFrom(candidates []int64) []int64 {
	lowest, highest := n.bounds()
	return slices.DeleteFunc(candidates, func(value int64) bool {
		return value < lowest || value > highest || !n.allowsInteger(value)
	})
}

// number makes a number, as it is after decoding JSON: an integer where it has no fraction.
func (m *maker) number(n *node) any {
	var wanted []float64
	level := m.g.places[n.id].level
	switch {
	case m.style == Zeros:
		wanted = []float64{0}
	case level > 1:
		wanted = []float64{1, 2, 3, 10}
	case m.style == Integers && level == 0:
		wanted = []float64{0.1, -0.1, 1e-7, 123456789.125, -2.5e15 + 0.5, 0.30000000000000004}
		if n.format == "float" {
			wanted = []float64{0.1, -0.1, 1e-7, 65536.125}
		}
	default:
		wanted = []float64{0.5, 1.5, 2.25, 12.75, 99.5, float64(1 + m.rng.IntN(9))}
	}
	allowed := n.numbersFrom(wanted)
	if len(allowed) == 0 {
		allowed = n.numbersFrom(n.anyNumber())
	}
	if len(allowed) == 0 {
		m.doubt = true
		return int64(0)
	}
	return whole(one(m, allowed))
}

// anyNumber are numbers of which one is allowed, if any is that is easy to find.
func (n *node) anyNumber() []float64 {
	wanted := []float64{1, 0.5, 0}
	low, high := -1e6, 1e6
	if n.minimum != nil {
		low = *n.minimum
		high = max(high, low+1)
	}
	if n.maximum != nil {
		high = *n.maximum
		if n.minimum == nil {
			low = min(low, high-1)
		}
	}
	wanted = append(wanted, low, high, low+(high-low)/2, low+(high-low)/4, low+0.25, high-0.25)
	for _, factor := range n.multiples {
		wanted = append(wanted, factor, 3*factor, math.Ceil(low/factor)*factor, math.Floor(high/factor)*factor, (math.Floor(low/factor)+1)*factor, (math.Ceil(high/factor)-1)*factor)
	}
	return wanted
}

// numbersFrom are those that are allowed.
func (n *node) numbersFrom(candidates []float64) []float64 {
	return slices.DeleteFunc(candidates, func(value float64) bool {
		if integral, ok := whole(value).(int64); ok {
			return !n.allowsInteger(integral)
		}
		return !n.inRange(value) || !n.isMultiple(value)
	})
}

// whole is a number as decoders of Kubernetes have it.
func whole(value float64) any {
	if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
		return int64(value)
	}
	return value
}
