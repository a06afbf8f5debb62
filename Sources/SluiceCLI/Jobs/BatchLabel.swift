internal import Sluice
internal import SluiceModel

/// How messages name what a program was given at a time: by the id that it finds in `SLUICE_BATCH`, and a single object
/// by its class and key, too.
struct BatchLabel: Sendable {
    /// What the program finds in `SLUICE_BATCH`.
    let id: String
    /// How many objects there are.
    let count: Int
    private let first: Identity?

    init(id: String, of objects: [Identity]) {
        self.id = id
        count = objects.count
        first = objects.first
    }

    init(_ batch: ConsumerBatch<Record>) {
        self.init(id: batch.id, of: batch.upserts.map(\.identity) + batch.removals.map(\.identity))
    }

    var text: String {
        guard count == 1, let first else { return "batch \(id) of \(GroupedNumber.text(count, "object"))" }
        return "\(first.className) \(first.key), batch \(id)"
    }
}
