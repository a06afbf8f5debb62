import CSQLite
import Foundation
import SluiceModel
import TestSupport
import Testing

@testable import SluiceStorage

/// The digest of a database's state: another one for each change, and the same for what is only stored otherwise.
struct StateDigestTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("digest")
        let storage = try Garage.server(.file(path))
        try storage.write {
            try storage.record([
                .create(Garage.owner(1, name: "Ann"), ofClass: Garage.owner),
                .create(Garage.owner(2, name: "Bob", car: "A"), ofClass: Garage.owner),
                .create(
                    Garage.car(
                        "A", price: 5, owner: Garage.ownerKey(1), former: [Garage.ownerKey(1), Garage.ownerKey(2)]),
                    ofClass: Garage.car),
                .create(Garage.car("B", owner: Garage.ownerKey(2)), ofClass: Garage.car),
                .create(Garage.car("C"), ofClass: Garage.car),
            ])
        }
        try storage.write { try storage.record([JournalChange(Garage.carRef("C"), .delete)]) }
        try storage.write {
            _ = try storage.makeClient(
                userID: "ann", nonce: ObjectID(high: 1, low: 3), sequence: 4, createdAt: Timestamp(microseconds: 3))
        }
        storage.close()
    }

    private func digest() throws -> [UInt8] {
        let storage = try Garage.server(.file(path))
        defer { storage.close() }
        return try storage.digest { false }
    }

    /// Runs SQL behind the store's back.
    private func run(_ sql: String) throws {
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        try #require(
            sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
        try #require(sqlite3_changes(handle) > 0)
    }

    @Test(arguments: [
        "UPDATE o_Car SET p_price = 6 WHERE p_vin = 'A'",
        "UPDATE o_Car SET p_price = '5' || '' WHERE p_vin = 'B'",
        "UPDATE o_Car SET p_owner = (SELECT p_owner FROM o_Car WHERE p_vin = 'B') WHERE p_vin = 'A'",
        "UPDATE o_Car SET p_owner = NULL WHERE p_vin = 'A'",
        "UPDATE o_Owner SET p_name = 'Bob' WHERE p_name = 'Ann'",
        "UPDATE o_Owner SET _lo = _lo + 7 WHERE p_name = 'Ann'",
        "UPDATE c_Car_former SET position = position + 10 WHERE position = 0",
        "DELETE FROM c_Car_former WHERE position = 1",
        "DELETE FROM o_Car WHERE p_vin = 'C'",
        "UPDATE o_Car SET _incarnation = _incarnation + 1 WHERE p_vin = 'C'",
        "UPDATE o_Car SET _version = 1 WHERE p_vin = 'C'",
        "UPDATE o_Car SET _version = 2 WHERE p_vin = 'A'",
        "UPDATE _clients SET sequence = 5", "UPDATE _clients SET user = 'bob'", "UPDATE _clients SET nonce = x'00'",
        "INSERT INTO _rejections (client, sequence, rejection) VALUES (1, 1, x'00')",
        "UPDATE _epochs SET id = id + 1", "INSERT INTO _jobs (space, name, value) VALUES ('a', x'01', x'02')",
        "UPDATE _meta SET value = value + 1 WHERE name = 'lastClient'",
    ])
    func `a change of anything that counts changes the digest`(sql: String) throws {
        let before = try digest()
        #expect(try digest() == before)
        try run(sql)
        #expect(try digest() != before, "\(sql)")
    }

    @Test(arguments: [
        """
        UPDATE o_Owner SET _row = _row + 100;
        UPDATE o_Car SET p_owner = p_owner + 100;
        UPDATE c_Car_former SET value = value + 100
        """,
        """
        UPDATE o_Car SET _row = _row + 100;
        UPDATE c_Car_former SET owner = owner + 100;
        UPDATE o_Owner SET p_car = p_car + 100 WHERE p_car IS NOT NULL
        """,
        "UPDATE c_Car_former SET position = position * 3",
    ])
    func `what is only stored otherwise does not`(sql: String) throws {
        let before = try digest()
        try run(sql)
        #expect(try digest() == before, "\(sql)")
    }

    @Test func `a digest that nobody wants any more ends`() throws {
        let storage = try Garage.server()
        try storage.write {
            try storage.record((0..<2_000).map { .create(Garage.car("\($0)"), ofClass: Garage.car) })
        }
        let error = #expect(throws: StorageError.self) { try storage.digest { true } }
        #expect(error?.code == .cancelled)
    }

    @Test func `a copy of a file that is open has its position and its digest, and is received whole or not at all`()
        throws
    {
        let storage = try Garage.server(.file(path))
        let copy = folder.file("copy")
        #expect(try ReplicaFile.copy(path, to: copy) == storage.head)
        let received = folder.file("received")
        let half = #expect(throws: StorageError.self) {
            try ReplicaFile.receive(received) { _ in }
        }
        #expect(half?.code == .notADatabase)
        #expect(!SQLiteServerStorage.isTaken(received))
        try ReplicaFile.receive(received) { draft in
            try Data(contentsOf: URL(filePath: copy)).write(to: URL(filePath: draft))
        }
        let replica = try Garage.server(.file(received))
        #expect(replica.head == storage.head)
        #expect(try replica.digest { false } == storage.digest { false })
        replica.close()
        let again = #expect(throws: StorageError.self) { try ReplicaFile.receive(received) { _ in } }
        #expect(again?.code == .exists)
    }

    @Test func `what belongs to the server of a file is in no digest, and not in what another server begins with`()
        throws
    {
        let before = try digest()
        let storage = try Garage.server(.file(path))
        let head = storage.head
        try storage.write { try storage.noteHeededRules([1, 2]) }
        #expect(try storage.heededRules == [1, 2] && storage.head == head)
        storage.close()
        #expect(try digest() == before)
        for isDisowned in [true, false] {
            let received = folder.file("received-\(isDisowned)")
            try ReplicaFile.receive(received) { draft in
                _ = try ReplicaFile.copy(path, to: draft)
                // One that has nothing of the kind stays as it is.
                if isDisowned { for _ in 0..<2 { try ReplicaFile.disown(draft) } }
            }
            let replica = try Garage.server(.file(received))
            #expect(try replica.heededRules == (isDisowned ? nil : [1, 2]))
            #expect(try replica.head == head && replica.digest { false } == before)
            replica.close()
        }
    }
}
