internal import SluiceModel

/// The subscriptions of a client's store, found by id or by query. The cost of a lookup does not depend on their
/// number; that of a change depends on it as ``ShardedTable`` says.
struct SubscriptionTable: Sendable {
    private var records = ShardedTable<UInt64, SubscriptionRecord>()
    private var ids = ShardedTable<ObjectID, UInt64>()
    /// The subscriptions that nobody observes; the engine keeps only a few.
    private(set) var dormant: Set<UInt64> = []

    var isEmpty: Bool { records.isEmpty }
    var count: Int { records.count }

    /// All subscriptions by ascending id. Takes O(n log n).
    var all: [SubscriptionRecord] { records.values.sorted { $0.id < $1.id } }

    /// The ids of the subscriptions that protect their members, in no particular order.
    var active: some Sequence<UInt64> { records.values.lazy.filter { !$0.isDormant }.map(\.id) }

    /// The subscription with an id. Setting one replaces that of the same id.
    subscript(id: UInt64) -> SubscriptionRecord? {
        get { records[id] }
        set {
            if let former = records[id]?.hash, former != newValue?.hash, ids[former] == id { ids[former] = nil }
            records[id] = newValue
            if let newValue { ids[newValue.hash] = id }
            if newValue?.isDormant == true { dormant.insert(id) } else { dormant.remove(id) }
        }
    }

    /// The subscription to the query with a hash.
    func record(ofQuery hash: ObjectID) -> SubscriptionRecord? { ids[hash].flatMap { records[$0] } }
}
