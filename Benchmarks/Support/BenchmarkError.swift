/// A benchmark that could not run, or whose result was wrong.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Fails the benchmark unless a value is the expected one.
func check<Value: Equatable>(_ value: Value, is expected: Value, _ what: String) throws {
    guard value == expected else { throw BenchmarkError("wrong result: \(what) is \(value) and must be \(expected)") }
}
