/// What the integers of a store's own tables may be. They stay below half of what 64 bits hold, so that what counts on
/// from them is a number too.
enum StoredNumber {
    /// Counts, versions, sequences and ids.
    static let counts = 0...Int64.max / 2
    /// Microseconds since 1970: 146,000 years before and after.
    static let times = -counts.upperBound...counts.upperBound

    /// An integer of a file.
    ///
    /// - Parameters:
    ///   - number: what was read; nil if it is no integer.
    ///   - file: the store, as messages name it.
    ///   - what: what the integer says.
    /// - Throws: ``StorageError/Code/damaged`` if it is none, or out of range.
    static func checked(
        _ number: Int64?, in range: ClosedRange<Int64>, file: String, what: String
    ) throws(StorageError) -> Int64 {
        guard let number else { throw .damaged(file, "\(what) is no integer") }
        guard range.contains(number) else {
            throw .damaged(file, "\(what) is \(number), and can be \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

extension Statement {
    /// The integer of a column, which must be one within a range.
    ///
    /// - Parameters:
    ///   - file: the store, as messages name it.
    ///   - what: what the integer says.
    /// - Throws: ``StorageError/Code/damaged`` if it is none, or out of range.
    func number(
        _ column: Int32, in range: ClosedRange<Int64> = StoredNumber.counts, file: String, what: String
    ) throws(StorageError) -> Int64 {
        try StoredNumber.checked(isInteger(column) ? int(column) : nil, in: range, file: file, what: what)
    }
}
