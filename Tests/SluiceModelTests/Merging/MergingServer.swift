import SluiceModel

/// A server with one object: what ``Merger`` and ``ObjectTrail`` make of uploads, without storage.
struct MergingServer {
    static let object = ObjectRef(0, .int(1))
    static let properties = [
        Property("id", .scalar(.int)), Property("count", .scalar(.int)),
        Property("tags", PropertyType(.scalar(.string), container: .set)),
        Property("marks", PropertyType(.scalar(.string), container: .map)),
    ]

    let template: Merger.Template
    private(set) var row: Row?
    private(set) var version: UInt64 = 0
    private(set) var supersededCount = 0
    private(set) var trail = ObjectTrail()
    /// What the log has.
    private var notes: [(note: WriteNote, stamp: WriteStamp)] = []

    init() throws {
        template = Merger.Template(
            try ClassSchema("Thing", primaryKey: "id", properties: Self.properties))
    }

    /// One transaction of a client, which knew the server's state of a version.
    struct Upload: ClientUpload {
        var client: UInt64
        var time: Int64
        var base: UInt64 = 0
        var actions: [ObjectOperation.Action]
    }

    mutating func accept(_ upload: Upload) {
        let stamp = WriteStamp(
            timestamp: HybridTimestamp(microseconds: upload.time), clientID: upload.client,
            version: version + 1)
        var merger = Merger(row, of: template)
        for operation in upload.actions.map({ ObjectOperation(Self.object, $0) }).withoutDeleted {
            merger.apply(operation, author: stamp, history: ObjectHistory(trail, since: upload.base))
        }
        supersededCount += merger.supersededCount
        version += 1
        if let note = merger.note(by: stamp, replacing: row, base: upload.base, isLineaged: true) {
            trail.append(note, stamp)
            notes.append((note, stamp))
        }
        row = merger.row
    }

    /// Reads the log again, as a server does that was started since.
    mutating func restart() {
        trail = ObjectTrail()
        for (note, stamp) in notes { trail.append(note, stamp) }
    }
}
