package import SluiceModel

extension Changeset: WireCodable {
    /// Where an operation's action stands, says that changes of records of jobs follow; they come first.
    private static let jobsCode: UInt8 = 5

    /// The form in which a changeset is stored and travels.
    package func encode(into writer: inout ByteWriter) {
        writer.varint(sequence)
        writer.varint(baseVersion)
        writer.zigzag(timestamp.microseconds)
        if let creations, jobs.isEmpty {
            writer.varint(1)
            creations.encode(into: &writer)
            return
        }
        let operations = operations
        var items = ByteWriter()
        var count = 0
        var next = 0
        if !jobs.isEmpty {
            count += 1
            items.byte(Self.jobsCode)
            items.array(jobs) { $1.encode(into: &$0) }
        }
        while next < operations.count {
            count += 1
            if let run = CreationRun(at: next, of: operations) {
                run.creations.encode(into: &items)
                next += run.creations.count
            } else {
                operations[next].encode(into: &items)
                next += 1
            }
        }
        writer.varint(count)
        writer.raw(items.bytes)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        try self.init(headerFrom: &reader)
        try readContent(from: &reader)
    }

    private init(headerFrom reader: inout ByteReader) throws(WireError) {
        let sequence = try reader.varint()
        let baseVersion = try reader.varint()
        let timestamp = HybridTimestamp(microseconds: try reader.zigzag())
        self.init(sequence: sequence, baseVersion: baseVersion, timestamp: timestamp, operations: [])
    }

    private mutating func readContent(from reader: inout ByteReader) throws(WireError) {
        let weight = max(1, MemoryLayout<ObjectOperation>.stride / MemoryLayout<Value>.stride)
        let count = try reader.count(minimumSize: 4, weight: weight)
        var operations: [ObjectOperation] = []
        for index in 0..<count {
            if index == 0, try reader.peek() == Self.jobsCode {
                _ = try reader.byte()
                jobs = try JobWrite.list(from: &reader)
                continue
            }
            guard try CreationRun.isNext(in: reader) else {
                if operations.isEmpty { operations.reserveCapacity(count) }
                operations.append(try ObjectOperation(from: &reader))
                continue
            }
            // Its operations count, and not the run.
            reader.budget.elements += weight
            let run = try Creations(from: &reader)
            if count == 1 {
                creations = run
                return
            }
            operations += run.operations
        }
        self.operations = operations
    }

    /// Reads the changesets that fill the rest of a message.
    ///
    /// The sequence of one that cannot be read is known, so it can be rejected instead of sent again for ever. It is
    /// the last that is returned: where the next one begins is not known.
    static func upload(from reader: inout ByteReader) throws(WireError) -> [Changeset] {
        let count = try reader.count(minimumSize: 4, weight: 2)
        var changesets: [Changeset] = []
        for _ in 0..<count {
            let budget = reader.budget
            var changeset = try Changeset(headerFrom: &reader)
            do throws(WireError) {
                try changeset.readContent(from: &reader)
            } catch {
                // A transaction that only found too little left of the frame's limits must be sent again.
                let isAlone = budget.elements + 64 >= reader.limits.elementCountMax
                guard isAlone || error.code != .limitExceeded else { throw error }
                reader.budget = budget
                reader.offset += reader.remaining
                changeset.problem = "the transaction cannot be read: \(error.message)"
            }
            changesets.append(changeset)
            if changeset.problem != nil { break }
        }
        return changesets
    }
}

extension ObjectOperation: WireCodable {
    /// An action byte, the object, then for create and update the changed properties.
    package func encode(into writer: inout ByteWriter) {
        switch action {
        case .create: writer.byte(0)
        case .update: writer.byte(1)
        case .delete: writer.byte(2)
        }
        object.encode(into: &writer)
        switch action {
        case .create(let fields), .update(let fields): writer.array(fields) { $1.encode(into: &$0) }
        case .delete: break
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let code = try reader.byte()
        guard code <= 2 else { throw reader.malformed("\(code) is no action on an object") }
        let object = try ObjectRef(from: &reader)
        guard code < 2 else {
            self.init(object, .delete)
            return
        }
        let fields = try reader.array(minimumSize: 2) { reader throws(WireError) in try FieldOperation(from: &reader) }
        self.init(object, code == 0 ? .create(fields) : .update(fields))
    }
}

extension FieldOperation: WireCodable {
    /// The property's position, a byte for the kind of change, then its value.
    package func encode(into writer: inout ByteWriter) {
        writer.varint(property)
        switch change {
        case .set(let value):
            writer.byte(0)
            value.encode(into: &writer)
        case .add(let value):
            writer.byte(1)
            value.encode(into: &writer)
        case .clear: writer.byte(2)
        case .edit(let edits):
            writer.byte(3)
            edits.encode(into: &writer)
        case .editList(let edits):
            writer.byte(4)
            edits.encode(into: &writer)
        case .setDefault(let value):
            writer.byte(5)
            value.encode(into: &writer)
        }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let property = try reader.position()
        switch try reader.byte() {
        case 0: self.init(property, .set(try Value(from: &reader)))
        case 1: self.init(property, .add(try Value(from: &reader)))
        case 2: self.init(property, .clear)
        case 3: self.init(property, .edit(try ElementEdits(from: &reader)))
        case 4: self.init(property, .editList(try ListEdits(from: &reader)))
        case 5: self.init(property, .setDefault(try Value(from: &reader)))
        case let code: throw reader.malformed("\(code) is no kind of change")
        }
    }
}
