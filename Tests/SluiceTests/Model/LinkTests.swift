import Sluice
import SluiceModel
import Testing

#if SLUICE_MACROS
    @Suite struct LinkTests {
        private let store: FakeStore

        init() throws {
            store = try FakeStore([User.self, Dealer.self, Car.self])
        }

        private func stored<Value: Model>(_ value: Value) throws -> Value {
            store.insert(value)
            let binding = try store.binding(of: Value.self, className: Value.className)
            return try Value.decode(value.encoded(for: binding), binding)
        }

        @Test func aLinkKnowsItsTargetBeforeAnythingIsStored() {
            let dealer = Dealer(code: "D")
            let user = User()
            #expect(Link(dealer) == Link<Dealer>(key: "D"))
            #expect(Link(dealer).objectID == dealer.objectID)
            #expect(Link(user) == Link(id: user.objectID))
            #expect(Set([Link(dealer), Link(key: "D"), Link(key: "E")]).count == 2)
            #expect(Link<Dealer>(nilLiteral: ()).key == nil)
            #expect(!Link(dealer).isPresent && !Link(dealer).isExcluded)
            #expect("\(Link(dealer))" == "Dealer(D)")
        }

        @Test func aLinkMadeByHandLeadsToNoStore() {
            let error = #expect(throws: ModelError.self) { try Link<Dealer>(key: "D").fetch() }
            #expect(error?.code == .detached)
        }

        @Test func aLinkReadFromAStoreFetchesItsTargetWhenItIsHere() throws {
            let car = try stored(Car(vin: "V", dealer: Link(key: "D"), colour: .red))
            let dealer = try #require(car.dealer)
            #expect(!dealer.isPresent)
            #expect(try dealer.fetch() == nil)
            store.insert(Dealer(code: "D", city: "Ulm"))
            #expect(dealer.isPresent)
            #expect(try dealer.fetch()?.city == "Ulm")
            let again = try stored(Dealer(code: "D", city: "Ulm"))
            #expect(try Link(again).fetch()?.city == "Ulm")
        }

        @Test func resolvingBringsAnAbsentTarget() async throws {
            let car = try stored(Car(vin: "V", dealer: Link(key: "D"), colour: .red))
            store.insert(Dealer(code: "D", city: "Ulm"), isHere: false)
            #expect(try await car.dealer?.resolve().city == "Ulm")
            #expect(car.dealer?.isPresent == true)
        }

        @Test func resolvingWhatNobodyHasFails() async throws {
            let car = try stored(Car(vin: "V", dealer: Link(key: "X"), colour: .red))
            let error = await #expect(throws: ModelError.self) { try await car.dealer?.resolve() }
            #expect(error?.code == .notFound)
        }

        @Test func aKeyOfTheWrongKindIsRefusedAtWriting() throws {
            let car = Car(vin: "V", owners: [Link(key: "u")], dealer: Link(key: 5), colour: .red)
            let error = #expect(throws: ModelError.self) {
                try car.encoded(for: store.binding(of: Car.self, className: "Car"))
            }
            #expect(error?.code == .invalidLink)
            #expect(error?.message.contains("Car.owners") == true)
        }

        @Test func linksAreACollectionOfLinks() throws {
            let (ada, grace, alan) = (User(name: "Ada"), User(name: "Grace"), User(name: "Alan"))
            var links = Links([ada, grace])
            links.append(alan)
            links.insert(alan, at: 0)
            #expect(links.map(\.objectID) == [alan, ada, grace, alan].map(\.objectID))
            links.removeAll(of: alan)
            #expect(links == [Link(ada), Link(grace)])
            #expect(links.contains(ada) && !links.contains(alan))
            links.remove(at: 0)
            links[0] = Link(alan)
            #expect(links.map(\.objectID) == [alan.objectID])
            links.removeAll()
            #expect(links.isEmpty && links == [])
        }

        @Test func fetchingAllLeavesOutWhatIsNotHere() throws {
            let (ada, grace) = (User(name: "Ada"), User(name: "Grace"))
            store.insert(grace)
            let car = try stored(Car(vin: "V", owners: Links([ada, grace]), colour: .red))
            #expect(car.owners.count == 2)
            #expect(try car.owners.fetchAll().map(\.name) == ["Grace"])
            #expect(car.owners.map(\.isPresent) == [false, true])
        }

        @Test func anElementWithoutTargetIsRefusedAtWriting() throws {
            var car = Car(vin: "V", colour: .red)
            car.owners.append(nil)
            let error = #expect(throws: ModelError.self) {
                try car.encoded(for: store.binding(of: Car.self, className: "Car"))
            }
            #expect(error?.code == .invalidLink)
        }
    }
#endif
