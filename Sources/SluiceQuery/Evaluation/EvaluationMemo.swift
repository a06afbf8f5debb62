internal import SluiceModel

/// Remembers the values of costly parts of conditions by the object that they are read from. Many objects can lead to
/// one: the maximum over what links to it, for example, is asked for by each of them and is the same for all.
///
/// Valid for one state of the objects only. Not safe for use from several threads at once.
package final class EvaluationMemo {
    private struct Key: Hashable {
        /// Retained, so that no other reader gets its address.
        let reader: LeafReader
        let object: ObjectKey

        static func == (left: Key, right: Key) -> Bool { left.reader === right.reader && left.object == right.object }

        func hash(into hasher: inout Hasher) {
            hasher.combine(ObjectIdentifier(reader))
            hasher.combine(object)
        }
    }

    /// The most values remembered; others are computed each time.
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
