internal import FoundationEssentials
package import SluiceModel

extension ObjectKey: WireCodable {
    /// A kind byte, then the key: 16 big-endian bytes, a zigzag varint, text, or 16 bytes in textual order.
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .id(let id):
            writer.byte(0)
            id.encode(into: &writer)
        case .int(let key):
            writer.byte(1)
            writer.zigzag(key)
        case .string(let key):
            writer.byte(2)
            writer.string(key)
        case .uuid(let key):
            writer.byte(3)
            writer.uuid(key)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = .id(try ObjectID(from: &reader))
        case 1: self = .int(try reader.zigzag())
        case 2: self = .string(try reader.string())
        case 3: self = .uuid(try reader.uuid())
        case let kind: throw reader.malformed("\(kind) is no kind of key")
        }
    }
}

extension ObjectID: WireCodable {
    /// 16 bytes, big-endian, so that bytes order as ids do.
    package func encode(into writer: inout ByteWriter) {
        withUnsafeBytes(of: high.bigEndian) { writer.bytes.append(contentsOf: $0) }
        withUnsafeBytes(of: low.bigEndian) { writer.bytes.append(contentsOf: $0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let high = try reader.fixed64().byteSwapped
        self.init(high: high, low: try reader.fixed64().byteSwapped)
    }
}

extension ObjectRef: WireCodable {
    /// The class position, then the key.
    package func encode(into writer: inout ByteWriter) {
        writer.varint(classIndex)
        key.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let classIndex = try reader.position()
        self.init(classIndex, try ObjectKey(from: &reader))
    }
}

extension ByteWriter {
    mutating func uuid(_ value: UUID) {
        withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
    }
}

extension ByteReader {
    mutating func uuid() throws(WireError) -> UUID {
        let bytes = try slice(16)
        return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
    }
}
