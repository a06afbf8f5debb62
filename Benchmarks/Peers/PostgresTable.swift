#if PostgreSQL

    import Foundation
    import SluicePostgres

    /// Cars in a table of PostgreSQL of its own. A trigger notifies of each changed row by its key, and who follows fetches
    /// the row.
    struct PostgresTable: PeerCars {
        private let url: String
        private let name = "cars_" + UUID().uuidString.replacing("-", with: "").lowercased()
        private let carCount: Int
        private let update: PostgresStatement
        private let fetch: PostgresStatement

        init(url: String, carCount: Int) throws {
            self.url = url
            self.carCount = carCount
            update = PostgresStatement("update", "UPDATE \(name) SET views = $1 WHERE vin = $2")
            fetch = PostgresStatement(
                "fetch", "SELECT vin, views, name, price, color, year FROM \(name) WHERE vin = ANY($1)")
            try fill()
        }

        private func fill() throws {
            let connection = try Self.connection(to: url)
            try connection.execute(
                script: """
                    CREATE TABLE \(name) (
                      vin text PRIMARY KEY, name text, price float8, views int8, color text, year int8);
                    CREATE FUNCTION notify_\(name)() RETURNS trigger LANGUAGE plpgsql AS $$
                      BEGIN PERFORM pg_notify('\(name)', NEW.vin); RETURN NULL; END $$;
                    CREATE TRIGGER changed AFTER UPDATE ON \(name)
                      FOR EACH ROW EXECUTE FUNCTION notify_\(name)();
                    BEGIN
                    """)
            let insert = PostgresStatement("insert", "INSERT INTO \(name) VALUES ($1, $2, $3::float8, 0, $4, $5)")
            for car in Car.numbered(0..<carCount) {
                try connection.execute(
                    insert, .text(car.vin), .text(car.name), .text(String(car.price)), .text(car.color),
                    .integer(Int64(car.year)))
            }
            try connection.execute(script: "COMMIT; ANALYZE \(name)")
        }

        /// A connection that waits for an answer as long as a benchmark waits.
        static func connection(to url: String) throws -> PostgresConnection {
            var timeouts = PostgresTimeouts()
            timeouts.answer = .seconds(60)
            timeouts.connect = .seconds(60)
            return try PostgresConnection(url: url, timeouts: timeouts)
        }

        func writer(tellsEach: Bool) throws -> any PeerWriter {
            let connection = try Self.connection(to: url)
            // No trigger runs then.
            if !tellsEach { try connection.execute(script: "SET session_replication_role = replica") }
            let keys = Car.numbered(0..<carCount).map(\.vin)
            return Writer(connection: connection, update: update, keys: keys, table: name)
        }

        func observe(_ note: @escaping @Sendable (_ car: Int, _ views: Int) -> Void) throws -> PeerObserver {
            let connection = try Self.connection(to: url)
            try connection.execute(script: "LISTEN \(name)")
            let numbers = Dictionary(uniqueKeysWithValues: (0..<carCount).map { (Car.numbered($0).vin, $0) })
            let fetch = fetch
            return PeerObserver {
                while true {
                    // They may have come with the answer to the last fetch.
                    let keys = connection.notifications().map(\.payload)
                    if keys.isEmpty {
                        guard try connection.waitForInput(until: .now + .seconds(60)) else {
                            throw BenchmarkError("a listener waited for 60 s, and nothing came")
                        }
                        continue
                    }
                    if keys.contains("") { return }
                    let rows = try connection.execute(fetch, .texts(keys))
                    for row in 0..<rows.rowCount {
                        guard let number = numbers[rows.text(0, row: row)] else { continue }
                        note(number, Int(rows.integer(1, row: row)))
                    }
                }
            }
        }

        /// A connection that updates. Each statement is a transaction, and is answered when it is durable.
        private struct Writer: PeerWriter {
            let connection: PostgresConnection
            let update: PostgresStatement
            let keys: [String]
            let table: String

            func write(_ numbers: StrideThrough<Int>, unansweredMax: Int) throws {
                try check(unansweredMax, is: 1, "the number of unanswered statements of a connection")
                for number in numbers {
                    let result = try connection.execute(
                        update, .integer(Int64(number)), .text(keys[number % keys.count]))
                    try check(result.affectedCount, is: 1, "the number of updated rows")
                }
            }

            func tellOfAll() throws {
                try connection.execute(script: "SELECT pg_notify('\(table)', vin) FROM \(table)")
            }

            func endObservers() throws { try connection.execute(script: "NOTIFY \(table), ''") }
        }
    }

#endif
