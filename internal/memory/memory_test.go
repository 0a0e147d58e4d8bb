package memory

import (
	"math"
	"testing"
)

// TestSlope compares with an example whose figures are known: of y = 1, 2, 4, 4 the slope is 1.1, and its standard error is the square
// root of 0.7 / 2 / 5.
func TestSlope(t *testing.T) {
	s := slope([]float64{1, 2, 3, 4}, []float64{1, 2, 4, 4})
	if margin := student * math.Sqrt(0.7/2/5); math.Abs(s.Value-1.1) > 1e-9 || math.Abs(s.High-1.1-margin) > 1e-9 || math.Abs(s.Low-1.1+margin) > 1e-9 {
		t.Errorf("got %+v", s)
	}
	if s := slope([]float64{1, 1, 1}, []float64{1, 2, 3}); s != (Slope{}) {
		t.Errorf("got %+v", s)
	}
}
