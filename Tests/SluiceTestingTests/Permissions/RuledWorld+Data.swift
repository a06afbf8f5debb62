import Sluice
import SluiceModel

/// The objects of a ``RuledWorld``.
extension RuledWorld {
    static func document(
        _ key: Int64, _ text: String = "", owner: String = "root", team: Int64? = nil, parent: Int64? = nil,
        isPublic: Bool = false, grade: Int64 = 0
    ) -> Row {
        Row(
            key: .int(key),
            values: [
                .int(key), .string(text), .bool(isPublic), .link(.string(owner)), team.map { .link(.int($0)) } ?? .null,
                parent.map { .link(.int($0)) } ?? .null, .int(grade),
            ])
    }

    static func document(_ key: Int64) -> ObjectRef { ObjectRef(ClassIndex.document, .int(key)) }

    static func team(_ key: Int64) -> ObjectRef { ObjectRef(ClassIndex.team, .int(key)) }

    /// Has the administrator create documents.
    func create(_ documents: Row...) throws {
        try write("root") { for row in documents { try $0.insert(row, ofClass: ClassIndex.document) } }
    }

    /// Has the administrator say who is in a team.
    func setTeam(_ key: Int64, _ members: [String]) throws {
        let value = Value.list(members.map { .link(.string($0)) })
        try write("root") { writer in
            if try writer.row(Self.team(key)) == nil {
                try writer.insert(Row(key: .int(key), values: [.int(key), value]), ofClass: ClassIndex.team)
            } else {
                try writer.update(Self.team(key), [FieldOperation(1, .set(value))])
            }
        }
    }

    func update(_ user: String, _ key: Int64, _ field: Int, _ value: Value) throws {
        try write(user) { try $0.update(Self.document(key), [FieldOperation(field, .set(value))]) }
    }

    // MARK: Permissions in the objects

    static func post(_ key: Int64, _ text: String, permissions: [Int64]) -> Row {
        Row(
            key: .int(key),
            values: [.int(key), .string(text), .list(permissions.map { .link(.int($0)) })])
    }

    static func post(_ key: Int64) -> ObjectRef { ObjectRef(ClassIndex.post, .int(key)) }

    /// - Parameter rights: of read, create, update and delete.
    static func permission(_ key: Int64, role: String, _ rights: Set<String>) -> Row {
        Row(
            key: .int(key),
            values: [.int(key), .link(.string(role))]
                + ["read", "create", "update", "delete"].map { Value.bool(rights.contains($0)) })
    }

    static func role(_ name: String, members: [String]) -> Row {
        Row(key: .string(name), values: [.string(name), .list(members.map { .link(.string($0)) })])
    }
}
