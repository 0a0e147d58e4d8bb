package loadgen

// Comparison compares a load test with an earlier one, the baseline.
type Comparison struct {
	Baseline string `json:"baseline"` // file that the baseline was read from
	Rows     []Row  `json:"rows"`     // in the order of this run, then what is missing in it
}

// Row compares one statistic of one stage.
type Row struct {
	Stage          string `json:"stage,omitempty"`
	Statistic      string `json:"statistic"`
	Unit           string `json:"unit,omitempty"`
	HigherIsBetter bool   `json:"higherIsBetter,omitempty"`
	Control        bool   `json:"control,omitempty"`

	// Base and Now are the medians of the repeats, with the intervals of the sign test; nil without values.
	Base *Estimate `json:"base,omitempty"`
	Now  *Estimate `json:"now,omitempty"`

	BaseRepeats int `json:"baseRepeats"`
	NowRepeats  int `json:"nowRepeats"`

	// Ratio is Now divided by Base, and Machine the same ratio of the control; nil where it is undefined.
	Ratio   *Estimate `json:"ratio,omitempty"`
	Machine *Estimate `json:"machine,omitempty"`

	P      float64  `json:"p"`                // two-sided p value of no difference; 1 where a series is missing
	Limit  string   `json:"limit,omitempty"`  // such as 10%
	PLimit *float64 `json:"pLimit,omitempty"` // one-sided p value of being within the limit, allowing for the machine; uncorrected

	// Verdict is NoDifference, Slower, Faster, Regressed, Improved, Incomparable, TooFewRepeats, TooNoisy or Missing.
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"` // explanation, where a limit is exceeded or could not be judged
}

// Estimate is an estimated value with its confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`

	// Confidence is the confidence level of the interval: 0.95 or slightly more. With fewer than 6 repeats for a median, or 4 for a
	// ratio, even the range of all values has less.
	Confidence float64 `json:"confidence"`
}
