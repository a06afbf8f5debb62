#if PostgreSQL

import Foundation
import SluiceStorage
import TestSupport
import Testing

@testable import SluicePostgres

struct AddressTests {
    @Test func `a URL may name several servers, and each is tried by itself`() throws {
        let address = try PostgresAddress("postgres://ann@one,two:6000/data?sslmode=disable")
        #expect(address.hosts.map { $0.parameters["host"] } == ["one", "two"])
        #expect(address.hosts.map { $0.parameters["port"] } == [nil, "6000"])
        let parameters = address.parameters(for: address.hosts[1])
        #expect(parameters["dbname"] == "data" && parameters["sslmode"] == "disable" && parameters["user"] == "ann")
        #expect(parameters["target_session_attrs"] == "read-write" && parameters["tcp_user_timeout"] == "10000")
        #expect(address.description == "postgres://ann@one,two:6000/data")
    }

    @Test func `what the URL says goes before our own parameters`() throws {
        let address = try PostgresAddress("postgresql:///data?tcp_user_timeout=50&host=%2Ftmp")
        let parameters = address.parameters(for: address.hosts[0])
        #expect(parameters["tcp_user_timeout"] == "50" && parameters["host"] == "/tmp")
    }

    @Test func `a file may have the URL`() async throws {
        try await withFolder { folder in
            let path = folder + "/journal.url"
            try "postgres://ann:secret@one/data\n".write(toFile: path, atomically: true, encoding: .utf8)
            let address = try PostgresAddress("file:\(path)")
            #expect(address.description == "postgres://ann@one/data")
            #expect(address.parameters(for: address.hosts[0])["password"] == "secret")
        }
        let error = #expect(throws: StorageError.self) { try PostgresAddress("file:/nowhere/at/all") }
        #expect(error?.message.contains("/nowhere/at/all") == true)
    }

    @Test(arguments: [
        "", "secret", "mysql://ann:secret@one/data", "host=one password=secret", "postgres://ann:secret@one:x y/data",
        "postgres://ann:secret@[one/data", "postgres://ann:secret@one/data?colour=green",
        "postgres://ann:%zzsecret@one/",
        "postgres://a,b:1,c:2,d/?port=1,2&password=secret",
        // Passwords with characters that end a part of a URL.
        "postgres://ann:top@secret@one/data", "postgres://ann:12/secret@one/data", "postgres://ann:a@b/secret@one/data",
    ])
    func `what is no URL is refused without repeating it`(text: String) {
        let error = #expect(throws: StorageError.self) { try PostgresAddress(text) }
        #expect(error?.code == .journal && error?.message.contains("secret") == false)
    }

    @Test func `messages of others lose the passwords`() throws {
        let address = try PostgresAddress("postgres://ann:s3cret@one/data?sslpassword=other")
        let encoded = try PostgresAddress("postgres://ann:s3%40cr%2Fet@one/da%40ta?sslpassword=a@b/c")
        #expect(encoded.description == "postgres://ann@one/da@ta")
        #expect(encoded.parameters(for: encoded.hosts[0])["password"] == "s3@cr/et")
        #expect(address.redacted("s3cret and other things") == "… and … things")
    }

    @Test func `a history is read as it was written`() throws {
        let history = PostgresHistory(system: .max, timeline: 0x1F, start: 1_764_000_000_000_000, tables: 16_385)
        #expect(history.description == "18446744073709551615/0000001F/1764000000000000/16385")
        #expect(PostgresHistory(history.description) == history)
        for text in ["", "1/2", "1/0000000G/3/4", "-1/00000001/3/4", "1/00000001/3", "1/00000001/3/4/5"] {
            #expect(PostgresHistory(text) == nil)
        }
    }

    @Test func `a server that cannot hold journals is refused with what would be right`() {
        #expect(Greeting.problem(version: 150_018, encoding: "UTF8", isStandby: false) == nil)
        #expect(Greeting.problem(version: 120_000, encoding: "UTF8", isStandby: false)?.contains("13 or later") == true)
        #expect(Greeting.problem(version: 150_018, encoding: "LATIN1", isStandby: false)?.contains("UTF8") == true)
        #expect(Greeting.problem(version: 150_018, encoding: "UTF8", isStandby: true)?.contains("primary") == true)
    }
}

#endif
