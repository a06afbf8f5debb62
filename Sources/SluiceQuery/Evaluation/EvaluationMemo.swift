internal import SluiceModel

/// What costly parts of conditions have come to, by the object that they begin at: the largest value of all that lead to
/// one object is asked for by each of them, and is the same for all.
///
/// Good for one state of the objects only. Not safe for use from several threads at once.
package final class EvaluationMemo {
    private struct Key: Hashable {
        /// Kept, so that no other takes its place in memory.
        let reader: LeafReader
        let object: ObjectKey

        static func == (left: Key, right: Key) -> Bool { left.reader === right.reader && left.object == right.object }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(reader))
            hasher.combine(object)
        }
    }

    /// The most values kept; what does not fit is computed anew.
    package static let countMax = 100_000

    private var values: [Key: Value] = [:]

    package init() {}

    func value(of reader: LeafReader, _ object: ObjectKey, _ compute: () throws -> Value) rethrows -> Value {
        let key = Key(reader: reader, object: object)
        if let known = values[key] { return known }
        let value = try compute()
        if values.count < Self.countMax { values[key] = value }
        return value
    }
}
