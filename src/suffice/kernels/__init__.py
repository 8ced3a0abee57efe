"""The one door to the compiler, and records as rows of arrays, which compiled code works on."""
