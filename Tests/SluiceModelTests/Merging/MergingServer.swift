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
    let trail = ObjectTrail()

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
        for action in upload.actions {
            merger.apply(
                ObjectOperation(Self.object, action), author: stamp,
                history: ObjectHistory(trail, since: upload.base))
        }
        supersededCount += merger.supersededCount
        version += 1
        switch (row, merger.row) {
        case (nil, nil): break
        case (nil, _?):
            trail.append(
                .create, written: merger.written, defaulted: merger.defaulted, partial: merger.partial, stamp)
        case (_?, nil): trail.append(.delete, written: [], partial: [], stamp)
        // As in the log, which has no changes that change nothing.
        case (_?, _?) where merger.written.isEmpty: break
        case (_?, _?):
            trail.append(
                .update, written: merger.written, defaulted: merger.defaulted, partial: merger.partial,
                creates: merger.creates, stamp)
        }
        row = merger.row
    }
}
