import Sluice

/// Two stores on one server: A writes cars, B observes them.
struct Pair {
    let writer: Store
    let observer: Store
    let cars: [Car]
    /// The highest number of views that B's handler has seen.
    let seen = Progress()
    private let token: NotificationToken

    init(
        _ workbench: Workbench, url: String, carCount: Int, durability: StoreConfiguration.Durability
    ) async throws {
        cars = Car.numbered(0..<carCount).map { car in
            var car = car
            car.views = 0
            return car
        }
        writer = try await workbench.openStore("a", models: [Car.self], url: url, durability: durability)
        try await writer.insert(cars)
        observer = try await workbench.openStore("b", models: [Car.self], url: url, durability: durability)
        let objects = observer.objects(Car.self)
        let seen = seen
        token = try objects.observe { change in
            var views = 0
            for index in change.modifications { views = max(views, change.results[index].views) }
            seen.report(views)
        }
        try await observer.core.synced(try objects.query(), timeout: .seconds(30)) {}
        try check(try objects.count(), is: carCount, "the cars that B starts with")
    }

    /// Writes one property of one car on A.
    func write(_ number: Int) async throws {
        let car = cars[number % cars.count]
        try await writer.write { try $0.update(car) { $0.views = number } }
    }

    func close() async {
        token.stop()
        await writer.close()
        await observer.close()
    }
}
