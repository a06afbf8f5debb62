import SluiceModel
import SluiceWire
import Testing

/// The server does not repeat a schema that the client has just declared.
@Suite struct KnownSchemaTests {
    @Test func `a client is not sent the schema that it declares`() throws {
        let bench = try Bench()
        #expect(try bench.open().opened.schema == nil)
    }

    @Test func aSchemaThatDiffersFromTheDeclaredOneIsSent() throws {
        let bench = try Bench()
        _ = try bench.open()
        let reader = try bench.open(options: .readOnly)
        #expect(reader.opened.schema?.classes.map(\.name) == ["Plane"])
    }

    @Test func whatFollowsAnOmittedSchemaIsRead() throws {
        let identity = ClientIdentity(
            databaseID: ObjectID(high: 1, low: 2), epoch: 3, clientID: 4, nonce: ObjectID(high: 5, low: 6))
        let messages: [ServerMessage] = [
            .opened(.init(session: 1, identity: identity, outcome: .resumed, version: 7, userID: "ada", schema: nil)),
            .listMembers(session: 1, subscription: 2),
        ]
        var builder = FrameBuilder()
        for message in messages { builder.append(message) }
        #expect(try Frame.decode(builder.finish()) == messages)
    }
}
