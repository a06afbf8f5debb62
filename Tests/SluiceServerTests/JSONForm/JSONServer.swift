import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceTransport
import Testing

/// A server in memory, with a database of cars and dealers, for clients of the JSON form.
enum JSONServer {
    static let schema = try! Schema([
        ClassSchema(
            "Car", primaryKey: "vin",
            properties: [
                Property("vin", .scalar(.string)), Property("price", .scalar(.double)),
                Property("doors", .scalar(.int)), Property("tags", PropertyType(.scalar(.string), container: .list)),
                Property("dealer", .link("Dealer")),
            ]),
        ClassSchema(
            "Dealer", primaryKey: "id",
            properties: [Property("id", .scalar(.int)), Property("city", .scalar(.string))]),
    ])

    static let cars = """
        [{"op":"insert","class":"Dealer","key":1,"set":{"city":"Oslo"}},
         {"op":"insert","class":"Car","key":"a","set":{"price":3,"doors":5,"tags":["x"],"dealer":1}},
         {"op":"insert","class":"Car","key":"b","set":{"price":1,"doors":3}},
         {"op":"insert","class":"Car","key":"c","set":{"price":2,"doors":4}}]
        """

    static func run(
        _ change: (inout ServerConfiguration) throws -> Void = { _ in },
        _ body: (LoopbackNetwork, SyncServer) async throws -> Void
    ) async throws {
        let network = LoopbackNetwork()
        var configuration = ServerConfiguration(host: "server", isDevelopment: true)
        configuration.loopback = network
        try change(&configuration)
        let server = try SyncServer(configuration)
        try server.start()
        try await server.access(to: "any").declare(schema)
        try await body(network, server)
        await server.stop()
    }

    /// - Parameter members: further ones of *open*, each after a comma.
    static func open(_ network: LoopbackNetwork, _ members: String = "") async throws -> (JSONClient, JSONValue) {
        let client = try JSONClient(network)
        client.send("{\"type\":\"open\"\(members)}")
        let opened = try #require(await client.next("opened"))
        return (client, opened)
    }
}

extension JSONClient {
    func write(_ sequence: Int, _ operations: String) {
        send("{\"type\":\"write\",\"seq\":\(sequence),\"ops\":\(operations)}")
    }
}
