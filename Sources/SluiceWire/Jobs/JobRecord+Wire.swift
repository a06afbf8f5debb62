package import SluiceModel

extension JobRecord.Key: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.string(space)
        writer.data(name)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(space: try reader.string(), name: try reader.data())
    }
}

extension JobRecord: WireCodable {
    /// The key, when it is due, then the value.
    package func encode(into writer: inout ByteWriter) {
        key.encode(into: &writer)
        writer.due(due)
        writer.data(value)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        self.init(try Key(from: &reader), due: try reader.due(), value: try reader.data())
    }
}

extension JobWrite: WireCodable {
    /// The key; a byte for what the record must be, with its value; a byte for what must hold of an object, with its
    /// class, key and version or query; a byte for the change, with the time after
    /// which the record is due, in microseconds, and its value.
    package func encode(into writer: inout ByteWriter) {
        key.encode(into: &writer)
        switch expectation {
        case .anything: writer.byte(0)
        case .absent: writer.byte(1)
        case .value(let value):
            writer.byte(2)
            writer.data(value)
        case .overdue(let value):
            writer.byte(3)
            writer.data(value)
        }
        switch condition {
        case nil: writer.byte(0)
        case .unchanged(let object, let version)?:
            writer.byte(1)
            object.encode(into: &writer)
            writer.varint(version)
        case .unmatched(let object, let query)?:
            writer.byte(2)
            object.encode(into: &writer)
            writer.string(query)
        }
        switch change {
        case .remove: writer.byte(0)
        case .set(.never, let value):
            writer.byte(1)
            writer.data(value)
        case .set(.after(let microseconds), let value):
            writer.byte(2)
            writer.varint(microseconds)
            writer.data(value)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let key = try JobRecord.Key(from: &reader)
        let expectation: Expectation
        switch try reader.byte() {
        case 0: expectation = .anything
        case 1: expectation = .absent
        case 2: expectation = .value(try reader.data())
        case 3: expectation = .overdue(try reader.data())
        case let code: throw reader.malformed("\(code) is nothing that a record must be")
        }
        let condition: Condition?
        switch try reader.byte() {
        case 0: condition = nil
        case 1: condition = .unchanged(try Identity(from: &reader), version: try reader.varint())
        case 2: condition = .unmatched(try Identity(from: &reader), query: try reader.string())
        case let code: throw reader.malformed("\(code) is nothing that must hold of an object")
        }
        switch try reader.byte() {
        case 0: self.init(key, .remove, if: expectation, condition)
        case 1: self.init(key, .set(.never, value: try reader.data()), if: expectation, condition)
        case 2:
            let due = Due.after(try reader.varint())
            self.init(key, .set(due, value: try reader.data()), if: expectation, condition)
        case let code: throw reader.malformed("\(code) is no change of a record")
        }
    }

    /// Reads the changes that a transaction or a request carries.
    static func list(from reader: inout ByteReader) throws(WireError) -> [JobWrite] {
        let writes = try reader.array(minimumSize: 5) { reader throws(WireError) in try JobWrite(from: &reader) }
        guard writes.count <= countMax else {
            throw WireError(
                .limitExceeded, "\(writes.count) changes of records of jobs; at most \(countMax)", offset: reader.offset
            )
        }
        return writes
    }
}

extension Identity {
    func encode(into writer: inout ByteWriter) {
        writer.string(className)
        key.encode(into: &writer)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        self.init(className: try reader.string(), key: try ObjectKey(from: &reader))
    }
}

extension ByteWriter {
    /// Epochs, each with the version after which it begins.
    package mutating func epochs(_ epochs: [Epoch]) {
        array(epochs) { writer, epoch in
            writer.varint(epoch.start)
            writer.fixed64(epoch.id)
        }
    }

    mutating func due(_ time: Timestamp?) { optional(time) { $0.zigzag($1.microseconds) } }
}

extension ByteReader {
    package mutating func epochs() throws(WireError) -> [Epoch] {
        try array(minimumSize: 9) { reader throws(WireError) in
            let start = try reader.varint()
            return Epoch(id: try reader.fixed64(), start: start)
        }
    }

    mutating func due() throws(WireError) -> Timestamp? {
        try optional { reader throws(WireError) in Timestamp(microseconds: try reader.zigzag()) }
    }
}
