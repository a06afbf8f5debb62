internal import SluiceModel

extension ViewBlock: WireCodable {
    /// Authors, then departures in runs of one class, role and reason, then the objects.
    package func encode(into writer: inout ByteWriter) {
        writer.array(authors) { $1.encode(into: &$0) }
        writer.array(departureRuns) { $1.encode(into: &$0) }
        objects.encode(into: &writer)
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        let authors = try reader.array(minimumSize: 6) { reader throws(WireError) in try CommitAuthor(from: &reader) }
        let runs = try reader.array(minimumSize: 6) { reader throws(WireError) in try DepartureRun(from: &reader) }
        self.init(authors: authors, objects: try ObjectBlock(from: &reader), departures: runs.flatMap(\.departures))
    }

    private var departureRuns: [DepartureRun] {
        var runs: [DepartureRun] = []
        for departure in departures {
            if let last = runs.indices.last, runs[last].matches(departure) {
                runs[last].keys.append(departure.object.key)
            } else {
                runs.append(DepartureRun(departure))
            }
        }
        return runs
    }
}

/// Consecutive departures of one class, role and reason.
private struct DepartureRun: WireCodable {
    let classIndex: Int
    let role: RowRole
    let reason: RemovalReason
    var keys: [ObjectKey]

    init(_ departure: ViewBlock.Departure) {
        classIndex = departure.object.classIndex
        role = departure.role
        reason = departure.reason
        keys = [departure.object.key]
    }

    func matches(_ departure: ViewBlock.Departure) -> Bool {
        departure.object.classIndex == classIndex && departure.role == role && departure.reason == reason
    }

    var departures: [ViewBlock.Departure] {
        keys.map { ViewBlock.Departure(ObjectRef(classIndex, $0), role: role, reason: reason) }
    }

    func encode(into writer: inout ByteWriter) {
        writer.varint(classIndex)
        writer.byte(role.rawValue)
        writer.byte(reason.code)
        writer.varint(keys.count)
        keys.map(\.value).withUnsafeBufferPointer {
            WireColumn.encode(ColumnCells($0, first: 0, stride: 1, count: $0.count), into: &writer)
        }
    }

    init(from reader: inout ByteReader) throws(WireError) {
        classIndex = try reader.position()
        let roleCode = try reader.byte()
        guard let role = RowRole(rawValue: roleCode) else { throw reader.malformed("\(roleCode) is no role of a row") }
        self.role = role
        reason = RemovalReason(code: try reader.byte())
        let count = try reader.varint()
        guard count > 0 else { throw reader.malformed("a run of no departures") }
        try reader.spend(elements: Int(clamping: count))
        keys = try ObjectKey.column(count: Int(count), from: &reader)
    }
}

extension CommitAuthor: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.varint(version)
        writer.optional(userID) { $0.string($1) }
        writer.varint(clientID)
        writer.varint(kinds.reduce(UInt64(0)) { $0 | 1 << UInt64($1.code) })
        writer.zigzag(acceptedAt.microseconds)
        writer.optional(workerID) { $0.string($1) }
    }

    /// Kinds that this version does not know are left out.
    package init(from reader: inout ByteReader) throws(WireError) {
        let version = try reader.varint()
        let userID = try reader.optional { reader throws(WireError) in try reader.string() }
        let clientID = try reader.varint()
        let bits = try reader.varint()
        let kinds = OperationKind.allCases.filter { bits >> UInt64($0.code) & 1 == 1 }
        let acceptedAt = Timestamp(microseconds: try reader.zigzag())
        let workerID = try reader.optional { reader throws(WireError) in try reader.string() }
        self.init(
            version: version, userID: userID, clientID: clientID, kinds: Set(kinds), acceptedAt: acceptedAt,
            workerID: workerID)
    }
}
