internal import SluiceJSON
package import SluiceModel

/// What a backup says that it has.
package struct BackupManifest: Hashable, Sendable {
    /// The format that this library writes, and the highest that it reads.
    package static let format = 1

    /// The version of the program that made the backup.
    package var server: String
    /// When the backup was begun. Each database is as it was at a moment after that.
    package var time: Timestamp
    package var members: [BackupMember] = []

    package init(server: String, time: Timestamp) {
        self.server = server
        self.time = time
    }

    package var databases: [BackupMember] { members.filter { $0.database != nil } }

    /// The manifest as JSON. All texts in it are names, numbers and digests, which need no escapes.
    var json: String {
        let lines = members.map { "    " + $0.json }
        return """
            {
              "format": \(Self.format),
              "server": "\(server)",
              "time": "\(time)",
              "members": [
            \(lines.joined(separator: ",\n"))
              ]
            }

            """
    }

    /// Reads a manifest; nil unless it has the form that ``json`` has.
    init?(json bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), let value = try? JSONParser.parse(text),
            value["format"] == .integer(Int64(Self.format)), let server = value["server"]?.string,
            Self.isVersion(server), let time = value["time"]?.string.flatMap({ Timestamp(iso8601: $0) }),
            let elements = value["members"]?.array
        else { return nil }
        self.init(server: server, time: time)
        for element in elements {
            guard let member = BackupMember(element) else { return nil }
            members.append(member)
        }
        guard Array(json.utf8) == bytes else { return nil }
    }

    private static func isVersion(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
                default: false
                }
            }
    }
}

/// A file that a backup has.
package struct BackupMember: Hashable, Sendable {
    /// A database at a moment.
    package struct DatabaseState: Hashable, Sendable {
        package var name: String
        package var id: ObjectID
        package var head: JournalHead
        package var version: UInt64

        package init(name: String, id: ObjectID, head: JournalHead, version: UInt64) {
            self.name = name
            self.id = id
            self.head = head
            self.version = version
        }
    }

    /// The name within the backup.
    package var name: String
    /// Nil for the file of users.
    package var database: DatabaseState?
    /// The length of the file, and of what is stored of it.
    package var byteCount = 0
    package var storedByteCount = 0
    /// SHA-256 over what is stored.
    package var digest: [UInt8] = []

    package init(database: DatabaseState) {
        name = "databases/\(database.name).sluicedb.lz4"
        self.database = database
    }

    private init() { name = "\(UserFile.name).lz4" }

    /// The file of users.
    package static var users: BackupMember { BackupMember() }

    var json: String {
        var members = [
            "\"name\": \"\(name)\"", "\"bytes\": \(byteCount)", "\"storedBytes\": \(storedByteCount)",
            "\"sha256\": \"\(Hexadecimal.encode(digest))\"",
        ]
        if let database {
            members += [
                "\"database\": \"\(database.name)\"", "\"id\": \"\(database.id)\"",
                "\"position\": \(database.head.position)", "\"version\": \(database.version)",
                "\"chain\": \"\(Hexadecimal.encode(database.head.chain))\"",
            ]
        }
        return "{ \(members.joined(separator: ", ")) }"
    }

    init?(_ json: JSONValue) {
        func number(_ name: String) -> Int? {
            if case .integer(let number)? = json[name], number >= 0 { Int(number) } else { nil }
        }
        guard let byteCount = number("bytes"), let storedByteCount = number("storedBytes"),
            let digest = json["sha256"]?.string.flatMap({ Hexadecimal.decode($0) }), digest.count == 32
        else { return nil }
        if let name = json["database"]?.string {
            guard Self.isDatabaseName(name), let id = json["id"]?.string.flatMap({ ObjectID($0) }),
                let position = number("position"), let version = number("version"),
                let chain = json["chain"]?.string.flatMap({ Hexadecimal.decode($0) }), chain.count == 32
            else { return nil }
            let head = JournalHead(position: UInt64(position), chain: chain)
            self.init(database: DatabaseState(name: name, id: id, head: head, version: UInt64(version)))
        } else {
            self.init()
        }
        self.byteCount = byteCount
        self.storedByteCount = storedByteCount
        self.digest = digest
    }

    /// Whether a database can have a name, and a file of that name be made.
    package static func isDatabaseName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
                default: false
                }
            }
    }
}
