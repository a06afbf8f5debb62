internal import SluiceModel

/// A range of keys of which a table has none, so that objects whose keys ascend need not be looked for one by one.
struct AbsentKeys {
    /// How many absent keys in a row must ascend before it pays to find out up to where no other key comes.
    static let runLengthMin = 8
    /// The same after a range turned out to serve few rows.
    private static let runLengthAfterShortRun = 64

    /// The table has no key above `lower` and below `upper`; nil is above all keys.
    private var range: (lower: ObjectKey, upper: ObjectKey?)?
    /// The last absent key outside the range.
    private var last: ObjectKey?
    private var runLength = 0

    /// Whether the table is known to lack a key.
    func contains(_ key: ObjectKey) -> Bool {
        guard let range, range.lower < key else { return false }
        return range.upper.map { key < $0 } ?? true
    }

    /// Notes a key that the table was found to lack, or has been given.
    ///
    /// - Returns: whether it pays to ask for the next key above it, and to call ``learn(above:upTo:)``.
    mutating func note(_ key: ObjectKey) -> Bool {
        if contains(key) {
            range?.lower = key
            return false
        }
        runLength = last.map { $0 < key } ?? false ? runLength + 1 : min(runLength, 0)
        last = key
        return runLength >= Self.runLengthMin
    }

    /// Notes that the table has no key between two.
    mutating func learn(above lower: ObjectKey, upTo upper: ObjectKey?) {
        range = (lower, upper)
        runLength = 0
    }

    /// Notes that knowing the range saved little.
    mutating func noteShortRun() {
        range = nil
        runLength = -Self.runLengthAfterShortRun
    }

    /// Forgets what is known, since the table may have changed in any way.
    mutating func forget() { self = AbsentKeys() }
}
