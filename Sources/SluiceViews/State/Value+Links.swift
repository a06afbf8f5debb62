package import SluiceModel

extension Value {
    /// Calls `body` with every link in the value, in order; a target may occur several times.
    package func forEachLink(_ body: (ObjectKey) throws -> Void) rethrows {
        switch self {
        case .link(let key): try body(key)
        case .list(let elements), .set(let elements):
            for case .link(let key) in elements { try body(key) }
        case .map(let map):
            for entry in map.entries { if case .link(let key) = entry.value { try body(key) } }
        default: break
        }
    }
}

extension Row {
    /// Calls `body` with every link in a property, unless the row lacks the property.
    func forEachLink(in property: Int, _ body: (ObjectKey) throws -> Void) rethrows {
        guard property < values.count, !absent.contains(property) else { return }
        try values[property].forEachLink(body)
    }
}
