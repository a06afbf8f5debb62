import Foundation
import SluiceExchange
import SluiceJSON
import SluiceModel
import TestSupport
import Testing

@testable import SluiceServer

/// Queries and writes by HTTP under rules, beside a naive reading of the rules: whatever users ask, they are told of what
/// they may read and of nothing else, and what they may not do is not done.
struct WebRulesTests {
    private static let schema = try! Schema([
        ClassSchema(
            "Note", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("owner", .scalar(.string)),
                Property("isPublic", .scalar(.bool)), Property("secret", .scalar(.int)),
            ])
    ])

    private static let rules = """
        {"roles": {"admin": "$user.id == 'root'"},
         "classes": {"Note": {
          "read": "isPublic == TRUE OR owner == $user.id OR $role.admin",
          "create": "owner == $user.id OR $role.admin", "update": "owner == $user.id OR $role.admin",
          "updateAfter": "TRUEPREDICATE", "delete": "owner == $user.id OR $role.admin",
          "fields": {"secret": {"read": "$role.admin", "write": "$role.admin"}}}}}
        """

    private static let users = ["ada", "bob", "root"]

    private func serve(_ body: (UInt16) async throws -> Void) async throws {
        var configuration = ServerConfiguration(port: 0)
        configuration.rules = Self.rules
        configuration.logins.custom = { request in
            guard case .token(let token) = request, Self.users.contains(token) else { return nil }
            return LoginUser(id: token)
        }
        let server = try SyncServer(configuration)
        let port = try server.start()
        let result: Result<Void, any Error>
        do {
            try await server.access(to: "any").declare(Self.schema)
            result = .success(try await body(port))
        } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }

    private func query(_ text: String, as user: String?, port: UInt16) async throws -> HTTPAnswer {
        let query = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let lines = user.map { ["Authorization: Bearer \($0)"] } ?? []
        return try await HTTPAnswer.ask("GET", "/any/query?q=\(query)", port: port, host: "localhost", lines)
    }

    private func write(_ line: String, as user: String?, port: UInt16) async throws -> HTTPAnswer {
        let lines = user.map { ["Authorization: Bearer \($0)"] } ?? []
        return try await HTTPAnswer.post("/any/write", line, port: port, ["Content-Length: \(line.utf8.count)"] + lines)
    }

    private func rows(_ answer: HTTPAnswer) throws -> [JSONValue] {
        try #require(answer.status == 200, "\(answer.body)")
        return try answer.unchunked.split(separator: "\n").map { try JSONParser.parse(String($0)) }
    }

    // MARK: The rules, read naively

    private struct Note: Hashable {
        var owner: String
        var isPublic: Bool
        var secret: Int64 = 0

        func isReadable(by user: String) -> Bool { isPublic || owner == user || user == "root" }

        func isWritable(by user: String) -> Bool { owner == user || user == "root" }
    }

    private typealias Notes = [Int64: Note]

    /// A line that a user writes at random, with the notes after it; nil where it is to be refused.
    private func line(
        of user: String, _ notes: Notes, _ random: inout SeededGenerator
    ) -> (text: String, notes: Notes?) {
        let key = Int64.random(in: 1...8, using: &random)
        let (owner, isPublic) = (random.pick(Self.users), Bool.random(using: &random))
        let secret = Int.random(in: 0..<5, using: &random) == 0 ? Int64.random(in: 1...9, using: &random) : nil
        let target = #""class":"Note","key":\#(key)"#
        let hidden = secret.map { ",\"secret\":\($0)" } ?? ""
        let mayWriteSecret = secret == nil || user == "root"
        var changed = notes
        switch Int.random(in: 0..<5, using: &random) {
        case 0, 1:
            let note = Note(owner: owner, isPublic: isPublic, secret: secret ?? 0)
            changed[key] = note
            let isAllowed = notes[key] == nil && note.isWritable(by: user) && mayWriteSecret
            return (
                #"{"op":"insert",\#(target),"set":{"owner":"\#(owner)","isPublic":\#(isPublic)\#(hidden)}}"#,
                isAllowed ? changed : nil
            )
        case 2, 3:
            let isAllowed = notes[key]?.isWritable(by: user) == true && mayWriteSecret
            changed[key]?.owner = owner
            if let secret { changed[key]?.secret = secret }
            return (#"{"op":"update",\#(target),"set":{"owner":"\#(owner)"\#(hidden)}}"#, isAllowed ? changed : nil)
        default:
            changed[key] = nil
            return (#"{"op":"delete",\#(target)}"#, notes[key]?.isWritable(by: user) == true ? changed : nil)
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `whoever asks is told what he may read, and what he may not write is refused`(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await serve { port in
            var notes: Notes = [:]
            for step in 0..<40 {
                let user = random.pick(Self.users)
                let (line, changed) = line(of: user, notes, &random)
                let answer = try await write(line, as: user, port: port)
                let place = "seed \(seed), step \(step), \(user): \(line): \(answer.status) \(answer.body)"
                #expect((answer.status == 200) == (changed != nil), "\(place)")
                #expect([200, 403, 422].contains(answer.status), "\(place)")
                notes = changed ?? notes
                if step % 4 == 3 { for user in Self.users { try await compare(notes, user, port, place) } }
            }
        }
    }

    private func compare(_ notes: Notes, _ user: String, _ port: UInt16, _ place: String) async throws {
        let readable = notes.filter { $0.value.isReadable(by: user) }
        let all = try rows(await query("Note SORT(id ASC) TOTAL", as: user, port: port))
        #expect(all.last?["@total"] == .integer(Int64(readable.count)), "\(place)")
        #expect(all.dropLast().map { $0["id"] } == readable.keys.sorted().map { .integer($0) }, "\(place)")
        for row in all.dropLast() {
            guard case .integer(let key)? = row["id"], let note = readable[key] else { continue }
            #expect(row["owner"] == .string(note.owner) && row["isPublic"] == .bool(note.isPublic), "\(place)")
            #expect(row["secret"] == (user == "root" ? .integer(note.secret) : nil), "\(place)")
        }
        let window = try rows(await query("Note SORT(id DESC) LIMIT(2)", as: user, port: port))
        #expect(window.map { $0["id"] } == readable.keys.sorted().suffix(2).reversed().map { .integer($0) }, "\(place)")
        let figures = try rows(await query("Note AGGREGATE(@count)", as: user, port: port))
        #expect(figures.map { $0["@count"] } == [.integer(Int64(readable.count))], "\(place)")
        for text in ["Note WHERE secret > 3", "Note SORT(secret DESC) LIMIT(1)", "Note AGGREGATE(@max.secret)"] {
            let answer = try await query(text, as: user, port: port)
            #expect(answer.status == (user == "root" ? 200 : 403), "\(place): \(text): \(answer.body)")
        }
    }

    // MARK: Single points

    @Test func `a note that is hidden is answered for as one that is not there`() async throws {
        try await serve { port in
            let made = try await write(
                #"{"op":"insert","class":"Note","key":1,"set":{"owner":"ada"}}"#, as: "ada", port: port)
            try #require(made.status == 200)
            for line in [
                #"{"op":"delete","class":"Note","key":KEY}"#,
                #"{"op":"update","class":"Note","key":KEY,"set":{"isPublic":true}}"#,
            ] {
                let hidden = try await write(line.replacing("KEY", with: "1"), as: "bob", port: port)
                let missing = try await write(line.replacing("KEY", with: "2"), as: "bob", port: port)
                #expect(hidden.status == 422 && hidden.status == missing.status)
                #expect(hidden.body == missing.body)
            }
            let id = try #require(rows(await query("Note", as: "ada", port: port)).first?["@id"]?.string)
            #expect(try rows(await query("OBJECT(\(id))", as: "bob", port: port)).isEmpty)
            #expect(try rows(await query("OBJECT(\(id))", as: "ada", port: port)).count == 1)
        }
    }

    @Test func `who does not log in, or as nobody whom the server knows, reads and writes nothing`() async throws {
        try await serve { port in
            let line = #"{"op":"insert","class":"Note","key":1,"set":{"owner":"ada","isPublic":true}}"#
            try #require(await write(line, as: "ada", port: port).status == 200)
            for user in [nil, "eve"] {
                let read = try await query("Note", as: user, port: port)
                #expect(read.status == 401 && !read.body.contains("ada"))
                #expect(read.headers.contains { $0.hasPrefix("WWW-Authenticate:") })
                let written = try await write(#"{"op":"delete","class":"Note","key":1}"#, as: user, port: port)
                #expect(written.status == 401)
            }
            #expect(try rows(await query("Note", as: "bob", port: port)).count == 1)
        }
    }
}
