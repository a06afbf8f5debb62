import Sluice
import SluiceModel
import SluiceWire
import TestSupport
import Testing

/// Uploads that do not fit the schema.
extension HostilePeerTests {
    private static let badOperations: [(name: String, message: String)] = [
        ("an unknown class", "no class"), ("an unknown property", "no property"), ("a wrong type", "Plane.seats"),
        ("a null where none may be", "Plane.seats"), ("an addition to text", "Flight.note"),
        ("an addition of another type", "Plane.seats"), ("a key of the wrong kind", "Plane names"),
        ("another primary key", "primary key"), ("a link whose key is of the wrong kind", "Flight.plane"),
        ("a link in a list whose key is of the wrong kind", "Flight.stops"),
        ("a link where a number belongs", "Plane.seats"),
        ("a list where one value belongs", "Flight.delay"),
    ]

    private static func badOperation(_ index: Int, _ schema: Schema) throws -> ObjectOperation {
        let plane = try #require(schema.index(of: "Plane"))
        let flight = try #require(schema.index(of: "Flight"))
        let n1 = ObjectRef(plane, .string("N1"))
        let f1 = ObjectRef(flight, .int(1))
        return switch index {
        case 0: .init(ObjectRef(77, .int(1)), .create([]))
        case 1: .init(n1, .create([.init(30, .set(.int(1)))]))
        case 2: .init(n1, .create([.init(1, .set(.string("many")))]))
        case 3: .init(n1, .create([.init(1, .set(.null))]))
        case 4: .init(f1, .update([.init(4, .add(.int(1)))]))
        case 5: .init(n1, .update([.init(1, .add(.double(1)))]))
        case 6: .init(ObjectRef(plane, .int(5)), .create([]))
        case 7: .init(n1, .create([.init(0, .set(.string("N2")))]))
        case 8: .init(f1, .create([.init(1, .set(.link(.int(5))))]))
        case 9: .init(f1, .create([.init(2, .set(.list([.link(.string("N1")), .link(.id(.init(high: 1, low: 1)))])))]))
        case 10: .init(n1, .create([.init(1, .set(.link(.string("N2"))))]))
        default: .init(f1, .create([.init(3, .set(.list([.double(1)])))]))
        }
    }

    @Test(arguments: badOperations.indices)
    func anUploadThatDoesNotFitIsRejectedAndReportedAndTheSessionLives(index: Int) async throws {
        let schema = try Fixture.schema()
        let expected = Self.badOperations[index]
        let bad = try Self.badOperation(index, schema)
        let good = ObjectOperation(
            ObjectRef(try #require(schema.index(of: "Plane")), .string("N9")), .create([.init(1, .set(.int(9)))]))
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.open(schema: schema)
            func upload(_ sequence: UInt64, _ operations: ObjectOperation...) {
                peer.send(
                    ClientMessage.upload(
                        session: 1,
                        changesets: [
                            Changeset(
                                sequence: sequence, baseVersion: 0, timestamp: .init(microseconds: 1),
                                operations: operations)
                        ]))
            }
            // The valid operations of a transaction are rejected together with the invalid one.
            upload(1, good, bad)
            let rejected = try peer.receive { if case .rejected(let rejected) = $0 { rejected } else { nil } }
            #expect(rejected.rejection.sequence == 1, "\(expected.name)")
            #expect(rejected.rejection.reasons.map(\.code) == [.invalidOperation], "\(expected.name)")
            #expect(rejected.rejection.reasons.first?.object == bad.object, "\(expected.name)")
            let message = rejected.rejection.reasons.first?.message ?? ""
            #expect(message.contains(expected.message), "\(expected.name): \(message)")
            let acknowledged = try peer.receive {
                if case .commit(let commit) = $0 { commit.header.acknowledged } else { nil }
            }
            #expect(acknowledged == 1, "\(expected.name)")
            peer.send(ClientMessage.subscribe(.init(session: 1, subscription: 1, query: "Plane")))
            var rows = 0
            func complete() throws {
                _ = try peer.receive { message -> Bool? in
                    if case .page(let page) = message {
                        rows += page.content.objects.groups.reduce(0) { $0 + $1.keys.count }
                    }
                    if case .complete = message { return true }
                    return nil
                }
            }
            try complete()
            #expect(rows == 0, "\(expected.name): part of a rejected transaction was applied")
            upload(2, good)
            let next = try peer.receive {
                if case .commit(let commit) = $0 { commit.header.acknowledged } else { nil }
            }
            #expect(next == 2, "\(expected.name)")
            #expect(try peer.settle() == nil)
        }
    }
}
