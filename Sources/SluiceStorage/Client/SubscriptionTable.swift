internal import SluiceModel

/// The subscriptions of a client's store by ascending id, found by id or by query without looking at all of them.
struct SubscriptionTable: Sendable, RandomAccessCollection, MutableCollection {
    private(set) var records: [SubscriptionRecord] = []
    private var ids: [ObjectID: UInt64] = [:]

    var startIndex: Int { 0 }
    var endIndex: Int { records.count }

    /// A record; one that is set keeps its id and query.
    subscript(index: Int) -> SubscriptionRecord {
        get { records[index] }
        set { records[index] = newValue }
    }

    /// The position of the subscription with an id. Takes logarithmic time.
    func index(ofID id: UInt64) -> Int? {
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < records.count && records[low].id == id ? low : nil
    }

    /// The subscription to the query with a hash.
    func record(ofQuery hash: ObjectID) -> SubscriptionRecord? {
        ids[hash].flatMap(index(ofID:)).map { records[$0] }
    }

    /// - Parameter record: its id is above all here.
    mutating func append(_ record: SubscriptionRecord) {
        records.append(record)
        ids[record.hash] = record.id
    }

    mutating func remove(at index: Int) {
        let removed = records.remove(at: index)
        if ids[removed.hash] == removed.id { ids[removed.hash] = nil }
    }
}
