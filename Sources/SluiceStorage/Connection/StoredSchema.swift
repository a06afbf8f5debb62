internal import SluiceModel
internal import SluiceWire

/// A schema as a store keeps it: as it travels, and then which classes are local.
struct StoredSchema: WireCodable {
    let schema: Schema

    init(_ schema: Schema) { self.schema = schema }

    func encode(into writer: inout ByteWriter) {
        schema.encode(into: &writer)
        let local = schema.classes.indices.filter { schema[$0].isLocal }
        writer.array(local) { $0.varint(UInt64($1)) }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        let schema = try Schema(from: &reader)
        let local = try reader.array(minimumSize: 1) { reader throws(WireError) in try reader.position() }
        do throws(SchemaError) {
            self.init(try schema.markingLocal(local))
        } catch {
            throw WireError(.malformed, error.message, offset: reader.offset)
        }
    }
}
