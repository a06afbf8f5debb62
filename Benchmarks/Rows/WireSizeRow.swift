import Foundation
import Sluice
import SluiceModel

/// R15: the bytes on the wire for a bootstrap of flights, beside gzip of the same rows as JSON.
struct WireSizeRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() async throws -> [Measurement] {
        let data = try FlightData()
        let flights = data.flights(workbench.options.size(336_776, quick: 12_000))
        return try await workbench.withServer { url in
            try await workbench.upload(flights, with: data, to: url)
            let parts = url.split(separator: ":")
            let proxy = try CountingProxy(to: UInt16(parts[2].split(separator: "/")[0]) ?? 0)
            defer { proxy.stop() }
            let store = try await workbench.openStore(
                "reader", models: FlightData.models, url: "ws://127.0.0.1:\(proxy.port)/bench")
            let query = try store.objects(Flight.self).query()
            try await store.core.synced(query, timeout: .seconds(120)) {}
            let byteCount = proxy.takeCount().toClient
            try check(try store.objects(Flight.self).count(), is: flights.count, "the flights")
            var file = Data()
            for flight in try store.objects(Flight.self).fetch() { file += Self.json(flight) }
            for object in try store.objects(Airline.self).fetch() {
                file += Self.line([("carrier", object.carrier), ("name", object.name)])
            }
            for object in try store.objects(Airport.self).fetch() {
                file += Self.line([("faa", object.faa), ("name", object.name)])
            }
            for object in try store.objects(Plane.self).fetch() {
                file += Self.line([
                    ("tailnum", object.tailnum), ("manufacturer", object.manufacturer), ("type", object.type),
                    ("seats", object.seats),
                ])
            }
            await store.close()
            return [
                Measurement(
                    .wireSize, "bootstrap of \(Double(flights.count).shown) flights, beside gzip of JSON",
                    ours: Double(byteCount), floor: Double(try gzip(file)), unit: "bytes", goal: .ratioAtMost(0.45))
            ]
        }
    }

    /// The size of data that gzip has compressed.
    private func gzip(_ data: Data) throws -> Int {
        let path = workbench.freshPath("rows.json")
        try data.write(to: URL(filePath: path))
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["gzip", path]
        try process.run()
        process.waitUntilExit()
        try check(process.terminationStatus, is: 0, "the status of gzip")
        let attributes = try FileManager.default.attributesOfItem(atPath: path + ".gz")
        return (attributes[.size] as? Int) ?? 0
    }

    private static func json(_ flight: Flight) -> Data {
        line([
            ("year", flight.year), ("month", flight.month), ("day", flight.day),
            ("departureTime", flight.departureTime), ("scheduledDepartureTime", flight.scheduledDepartureTime),
            ("departureDelay", flight.departureDelay), ("arrivalTime", flight.arrivalTime),
            ("scheduledArrivalTime", flight.scheduledArrivalTime), ("arrivalDelay", flight.arrivalDelay),
            ("airline", text(flight.airline?.key)), ("number", flight.number), ("plane", text(flight.plane?.key)),
            ("origin", text(flight.origin?.key)), ("destination", text(flight.destination?.key)),
            ("airTime", flight.airTime),
            ("distance", flight.distance), ("hour", flight.hour), ("minute", flight.minute),
            ("scheduled", Timestamp(flight.scheduled).description),
        ])
    }

    private static func text(_ key: ObjectKey?) -> String? {
        if case .string(let text)? = key { text } else { nil }
    }

    private static func line(_ members: [(name: String, value: Any?)]) -> Data {
        let texts = members.map { name, value in
            let text = value.map { value in value is String ? "\"\(value)\"" : "\(value)" } ?? "null"
            return "\"\(name)\":\(text)"
        }
        return Data("{\(texts.joined(separator: ","))}\n".utf8)
    }
}
