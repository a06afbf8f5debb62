import Foundation
import Sluice
import SluiceServer

/// The used-car shop, step by step: shows what observing, syncing, stopping and purging do.
@main struct UsedCars {
    static func main() async throws {
        let server = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        let url = "ws://127.0.0.1:\(try server.start())/cars"
        let dealer = try await openStore(url)
        let phone = try await openStore(url)
        try await stock(dealer)

        try await reading(phone)
        let token = try await observing(phone)
        try await localAndRemote(phone, dealer)
        try await stopping(phone, token)
        try await identity(phone)
        try await limiting(phone, dealer)
        try await excluding(phone)

        for store in [dealer, phone] { await store.close() }
        await server.stop()
    }

    private static func openStore(_ url: String) async throws -> Store {
        try await Store.open(
            StoreConfiguration(
                models: [Car.self, User.self, Person.self, Dog.self], sync: SyncConfiguration(url: url)))
    }

    private static func stock(_ dealer: Store) async throws {
        step("A dealer puts three cars, their owners and forty dogs on the server.")
        try await dealer.write { transaction in
            let ann = User(id: "ann", name: "Ann")
            // Ann and Bob are friends of each other: a cycle of links.
            let bob = User(id: "bob", name: "Bob", friends: [Link(ann)])
            try transaction.insert(User(id: "ann", name: "Ann", friends: [Link(bob)]))
            try transaction.insert(bob)
            try transaction.insert(Car(id: "corolla", price: 9_000, owners: [Link(ann)]))
            try transaction.insert(Car(id: "yaris", price: 12_000, owners: [Link(bob)]))
            try transaction.insert(Car(id: "golf", name: "Volkswagen", price: 11_000))
            for number in 0..<40 { try transaction.insert(Dog(name: "B\(100 + number)", color: "tan")) }
        }
        try await dealer.uploaded(timeout: .seconds(30))
    }

    private static func reading(_ phone: Store) async throws {
        step("Reading is about what is on this disk, and asks nobody.")
        let cars = phone.objects(Car.self).filter("name == 'Toyota'")
        say("there are \(try cars.count()) Toyotas here, although two of the server's three cars are")
    }

    private static func observing(_ phone: Store) async throws -> NotificationToken {
        step("Observing a query starts syncing it; linked owners and their friends come along.")
        let cars = phone.objects(Car.self).where { $0.name == "Toyota" }
        let token = try cars.observe { change in
            say(
                "event: \(change.results.count) Toyotas, \(change.state), \(change.remote == nil ? "made here" : "from the server")"
            )
        }
        _ = try await cars.synced(timeout: .seconds(30))
        say("now there are \(try cars.count()) Toyotas and \(try phone.objects(User.self).count()) users here")
        return token
    }

    private static func localAndRemote(_ phone: Store, _ dealer: Store) async throws {
        step("A change made here has no `remote`; one made elsewhere says who, what and when.")
        let corolla = phone.objects(Car.self).filter("id == 'corolla'")
        try await phone.write { transaction in
            guard let car = try transaction.object(Car.self, key: "corolla") else { return }
            try transaction.update(car) { $0.price -= 500 }
        }
        try await phone.uploaded(timeout: .seconds(30))
        let recorder = Recorder()
        let token = try corolla.observe { recorder.note($0) }
        _ = try await dealer.objects(Car.self).synced(timeout: .seconds(30))
        try await dealer.write { transaction in
            guard let car = try transaction.object(Car.self, key: "corolla") else { return }
            try transaction.increment(car, \.discount, by: 100)
        }
        if let remote = await recorder.firstRemoteModification(timeout: .seconds(10)) {
            say(
                "remote: operations \(remote.operations.map(\.rawValue).sorted()), user \(remote.userID ?? "anonymous")"
            )
            say("accepted before it was received: \(remote.acceptedAt <= remote.receivedAt)")
        }
        token.stop(stopSyncing: true, purgeLocal: false)
    }

    private static func stopping(_ phone: Store, _ token: NotificationToken) async throws {
        step("Stopping the token stops notifications, stops syncing and frees the space.")
        token.stop()
        say("\(try phone.objects(Car.self).count()) cars are left here; the server keeps its own")
    }

    private static func identity(_ phone: Store) async throws {
        step("Every object has a global id, before it is stored and beside its own key.")
        let person = Person(socialSecurityNumber: "078-05-1120")
        say("the person's object id is \(person.objectID)")
        try await phone.write { try $0.insert(person) }
        say("found by it: \(try phone.object(person.objectID)?.identity.className ?? "nothing")")
    }

    private static func limiting(_ phone: Store, _ dealer: Store) async throws {
        step("A limited query is a window: objects move in and out, and it never grows beyond its limit.")
        let dogs = phone.objects(Dog.self)
            .filter("color = 'tan' AND name BEGINSWITH 'B'").sorted(by: \.name).limit(20)
        let recorder = Recorder()
        let token = try dogs.observe { recorder.note($0) }
        let first = try await dogs.synced(timeout: .seconds(30))
        say("\(first.count) dogs, from \(first.first?.name ?? "") to \(first.last?.name ?? "")")
        try await dealer.write { try $0.insert(Dog(name: "B000", color: "tan")) }
        await recorder.waitFor(timeout: .seconds(10)) { (try? dogs.first()?.name) == "B000" }
        let now = try dogs.fetch()
        say(
            "a new first dog pushes the last out: \(now.count) dogs, from \(now.first?.name ?? "") to \(now.last?.name ?? "")"
        )
        say("no event ever had more than \(recorder.largestCount) dogs")
        token.stop()
    }

    private static func excluding(_ phone: Store) async throws {
        step("Excluding a link keeps what it leads to away.")
        let cars = phone.objects(Car.self).where { $0.name == "Toyota" }.excluding(\.owners)
        let token = try cars.observe { _ in }
        let all = try await cars.synced(timeout: .seconds(30))
        say(
            "\(all.count) Toyotas, \(try phone.objects(User.self).count()) users; the owners read as \(all[0].owners.count), excluded: \(!all[0].isPresent(\.owners))"
        )
        token.stop()
    }

    private static func step(_ text: String) { print("\n\(text)") }
}

@Sendable func say(_ text: String) { print("  \(text)") }
