/// A map from strings to values, ordered by the bytes of the keys, so that equal maps have equal entries.
public struct ValueMap: Hashable, Sendable {
    /// One key and its value.
    public struct Entry: Sendable {
        /// The key.
        public var key: String
        /// The value of the key.
        public var value: Value

        /// Makes an entry of a key and a value.
        public init(key: String, value: Value) {
            self.key = key
            self.value = value
        }
    }

    /// The entries in ascending order of their keys' UTF-8 bytes, each key once.
    public private(set) var entries: [Entry]

    /// Makes a map of the given entries. If a key repeats, its last value counts.
    public init(_ entries: some Sequence<(key: String, value: Value)> = [(key: String, value: Value)]()) {
        self.entries = []
        for (key, value) in entries { self[key] = value }
    }

    /// - Parameter entries: the entries by ascending bytes of their keys, each key once.
    package init(ascending entries: [Entry]) { self.entries = entries }

    /// The value of a key; setting nil removes the key. Reading is O(log n), adding and removing O(n).
    public subscript(key: String) -> Value? {
        get {
            let index = position(of: key)
            return index < entries.count && UTF8Order.equal(entries[index].key, key) ? entries[index].value : nil
        }
        set {
            let index = position(of: key)
            let exists = index < entries.count && UTF8Order.equal(entries[index].key, key)
            switch (newValue, exists) {
            case (let value?, true): entries[index].value = value
            case (let value?, false): entries.insert(Entry(key: key, value: value), at: index)
            case (nil, true): entries.remove(at: index)
            case (nil, false): break
            }
        }
    }

    private func position(of key: String) -> Int {
        if let last = entries.last, UTF8Order.less(last.key, key) { return entries.count }
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if UTF8Order.less(entries[middle].key, key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    static func compare(_ left: ValueMap, _ right: ValueMap) -> Int {
        for (left, right) in zip(left.entries, right.entries) {
            let keys = UTF8Order.compare(left.key, right.key)
            if keys != 0 { return keys }
            let values = Value.compare(left.value, right.value)
            if values != 0 { return values }
        }
        return left.entries.count - right.entries.count
    }
}

extension ValueMap.Entry: Hashable {
    public static func == (left: ValueMap.Entry, right: ValueMap.Entry) -> Bool {
        UTF8Order.equal(left.key, right.key) && left.value == right.value
    }

    public func hash(into hasher: inout Hasher) {
        UTF8Order.hash(key, into: &hasher)
        hasher.combine(value)
    }
}
