extension Value {
    /// Whether a link in the value passes a test. The links are tested in order, repeats included, until one passes.
    package func anyLink(_ test: (ObjectKey) throws -> Bool) rethrows -> Bool {
        switch self {
        case .link(let key): return try test(key)
        case .list(let elements), .set(let elements):
            for case .link(let key) in elements where try test(key) { return true }
        case .map(let map):
            for entry in map.entries { if case .link(let key) = entry.value, try test(key) { return true } }
        case .null, .bool, .int, .float, .double, .string, .data, .date, .uuid, .objectID, .decimal: break
        }
        return false
    }

    /// Calls `body` with every link in the value, in order, repeats included.
    package func forEachLink(_ body: (ObjectKey) throws -> Void) rethrows {
        _ = try anyLink {
            try body($0)
            return false
        }
    }
}
