/// What work costs that SQLite does not count, in steps of its virtual machine.
package enum FunctionCost {
    /// What one number costs that a function computes with.
    package static let numberStepCount = 10

    /// What text or data costs that is read from end to end.
    package static func steps(ofBytes byteCount: Int) -> Int { 1 + byteCount / 8 }
}
