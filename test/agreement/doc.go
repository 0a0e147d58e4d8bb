// Package agreement has tests only. They run the specs on every sort of cluster that there is, and compare what the specs
// came to: a sort of cluster must not decide a verdict.
package agreement
