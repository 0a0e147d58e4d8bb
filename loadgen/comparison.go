package loadgen

// Comparison is what an earlier load test and this one say about each other.
type Comparison struct {
	Baseline string `json:"baseline"` // the file that the earlier one was read from
	Rows     []Row  `json:"rows"`     // in the order of the second run, then what is missing there
}

// Row is the comparison of one series.
type Row struct {
	Stage          string `json:"stage,omitempty"`
	Statistic      string `json:"statistic"`
	Unit           string `json:"unit,omitempty"`
	HigherIsBetter bool   `json:"higherIsBetter,omitempty"`
	Control        bool   `json:"control,omitempty"`

	// Base and Now are the medians of the repeats, with the intervals of the sign test; nil where there are none.
	Base *Estimate `json:"base,omitempty"`
	Now  *Estimate `json:"now,omitempty"`

	BaseRepeats int `json:"baseRepeats"`
	NowRepeats  int `json:"nowRepeats"`

	// Ratio is of now to the baseline, and Machine that of the control; nil where there are no values, or zeros to divide by.
	Ratio   *Estimate `json:"ratio,omitempty"`
	Machine *Estimate `json:"machine,omitempty"`

	P      float64  `json:"p"`                // two-sided, of there being no difference; 1 where the series is missing
	Limit  string   `json:"limit,omitempty"`  // such as 10%
	PLimit *float64 `json:"pLimit,omitempty"` // one-sided, of being within the limit but for the machine; uncorrected

	// Verdict is NoDifference, Slower, Faster, Regressed, Improved, Incomparable, TooFewRepeats or Missing.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"` // a sentence, where a limit is exceeded or could not be judged
}

// Estimate is a value, and the interval in which the true one lies with a given confidence.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// Confidence is that of the interval: 0.95 or a little more. It is less when even from the least to the greatest is too
	// narrow, which is so with fewer than 6 repeats for a median and fewer than 4 for a ratio.
	Confidence float64 `json:"confidence"`
}
