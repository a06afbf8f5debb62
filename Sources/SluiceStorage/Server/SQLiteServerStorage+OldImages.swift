package import SluiceModel

extension SQLiteServerStorage {
    /// Reads the log forward: the first old value of a property is the one that the object had at the version.
    /// Properties that no change has written are as they are now.
    package func oldImages(since version: UInt64, countMax: Int) throws -> [(object: ObjectRef, row: Row?)]? {
        var order: [ObjectRef] = []
        var images: [ObjectRef: OldImage] = [:]
        try forEachLogEntry(after: version) { entry in
            for change in entry.changes {
                if images[change.object] == nil { order.append(change.object) }
                images[change.object, default: OldImage(before: change)].note(change)
            }
            return order.count <= countMax
        }
        guard order.count <= countMax else { return nil }
        return try order.map { object in
            switch images[object] {
            case .partial(let version, let known)?:
                guard var row = try row(object) else { throw try tables.table(object.classIndex).damaged() }
                row.version = version
                for (property, value) in known { row.values[property] = value }
                return (object, row)
            case .whole(let version, let values)?:
                // Properties that were added later had their defaults.
                let defaults = schema[object.classIndex].defaultValues(for: object.key)
                let row = Row(key: object.key, version: version, values: values + defaults.dropFirst(values.count))
                return (object, row)
            default:
                return (object, nil)
            }
        }
    }

    /// What is known of an object as it was at the version, once a part of the log has been read.
    private enum OldImage {
        case missing
        /// Some properties; the others have not changed so far.
        case partial(version: UInt64, known: [Int: Value])
        case whole(version: UInt64, values: [Value])

        /// - Parameter change: the first change of the object.
        init(before change: LogChange) {
            self = change.kind == .create ? .missing : .partial(version: change.oldVersion, known: [:])
        }

        mutating func note(_ change: LogChange) {
            guard case .partial(let version, var known) = self else { return }
            switch change.kind {
            case .create: break
            case .update:
                for (property, value) in zip(change.written, change.oldValues) where known[property] == nil {
                    known[property] = value
                }
                self = .partial(version: version, known: known)
            case .delete:
                var values = change.oldValues
                for (property, value) in known where property < values.count { values[property] = value }
                self = .whole(version: version, values: values)
            }
        }
    }
}
