"""The only module that imports the compiler, and records as rows of arrays, which compiled code works on."""
