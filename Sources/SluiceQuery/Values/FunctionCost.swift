/// The cost of work that SQLite does not count, in steps of its virtual machine.
package enum FunctionCost {
    /// The cost of one number that a function computes with.
    package static let numberStepCount = 10

    /// The cost of text or data that is read from end to end.
    package static func steps(ofBytes byteCount: Int) -> Int { 1 + byteCount / 8 }
}
