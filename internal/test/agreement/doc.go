// Package agreement has tests only. They run the specs on every kind of cluster that there is, and compare what the specs came
// to: a kind of cluster must not decide a verdict.
package agreement
