internal import SluiceExchange
internal import SluiceModel

/// Writes objects as JSON: `"@id"` first, then the properties that are here, in schema order.
///
/// A link is written as its target's primary key, or as its object id in a class without one, whether or not the target
/// is here. An expanded link is written as the target itself, if that is here.
struct RecordRenderer {
    /// Looks up the target of a link: the class's name and the key.
    typealias Resolver = (_ className: String, _ key: ObjectKey) throws -> Record?

    let expansion: Expansion
    let resolve: Resolver

    init(expansion: Expansion = .none, resolve: @escaping Resolver = { _, _ in nil }) {
        self.expansion = expansion
        self.resolve = resolve
    }

    func write(_ record: Record, to writer: inout JSONWriter) throws {
        try write(record, expansion, to: &writer)
    }

    /// One line of JSON with its line feed.
    func line(_ record: Record) throws -> [UInt8] {
        var writer = JSONWriter()
        try write(record, to: &writer)
        writer.endLine()
        return writer.bytes
    }

    private func write(_ record: Record, _ expansion: Expansion, to writer: inout JSONWriter) throws {
        writer.raw("{\"@id\":")
        writer.string(record.objectID.description)
        for (index, property) in record.classSchema.properties.enumerated()
        where !property.isRetired && !record.row.absent.contains(index) {
            writer.name(property.name, isFirst: false)
            let value = record.row.values[index]
            if let target = property.type.targetClass, let nested = expansion.children[property.name] {
                try write(links: value, of: target, nested, to: &writer)
            } else {
                writer.write(value)
            }
        }
        writer.raw("}")
    }

    private func write(
        links value: Value, of className: String, _ expansion: Expansion, to writer: inout JSONWriter
    ) throws {
        switch value {
        case .link(let key):
            if let target = try resolve(className, key) {
                try write(target, expansion, to: &writer)
            } else {
                writer.write(key)
            }
        case .list(let elements), .set(let elements):
            writer.raw("[")
            for (index, element) in elements.enumerated() {
                if index > 0 { writer.raw(",") }
                try write(links: element, of: className, expansion, to: &writer)
            }
            writer.raw("]")
        case .map(let map):
            writer.raw("{")
            for (index, entry) in map.entries.enumerated() {
                writer.name(entry.key, isFirst: index == 0)
                try write(links: entry.value, of: className, expansion, to: &writer)
            }
            writer.raw("}")
        default: writer.write(value)
        }
    }
}
