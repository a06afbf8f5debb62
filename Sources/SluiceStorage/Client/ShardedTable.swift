/// A dictionary whose copies share storage: changing an entry of a copy copies one shard and not the whole.
///
/// Every commit of a store hands its state to readers, so the next change finds shared storage. With one dictionary
/// that change would cost O(entries); here it costs O(entries / ``shardCount`` + ``shardCount``).
struct ShardedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private static var shardCount: Int { 256 }

    private var shards: [[Key: Value]] = Array(repeating: [:], count: Self.shardCount)
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The entries, in no particular order.
    var all: some Sequence<(key: Key, value: Value)> { shards.lazy.joined() }

    /// The values, in no particular order.
    var values: some Sequence<Value> { shards.lazy.flatMap(\.values) }

    subscript(key: Key) -> Value? {
        get { shards[Self.shard(of: key)][key] }
        set {
            let shard = Self.shard(of: key)
            let before = shards[shard].count
            shards[shard][key] = newValue
            count += shards[shard].count - before
        }
    }

    /// Changes a value in place, beginning with `initial` where there is none.
    mutating func update<Result>(
        _ key: Key, default initial: @autoclosure () -> Value, _ body: (inout Value) -> Result
    ) -> Result {
        let shard = Self.shard(of: key)
        let before = shards[shard].count
        defer { count += shards[shard].count - before }
        return body(&shards[shard][key, default: initial()])
    }

    /// Chooses by the upper bits of the hash, since a dictionary chooses its buckets by the lower ones.
    private static func shard(of key: Key) -> Int { Int(UInt(bitPattern: key.hashValue) >> (UInt.bitWidth - 8)) }
}
