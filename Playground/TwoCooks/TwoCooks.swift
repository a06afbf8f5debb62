import Sluice
import SluiceServer

/// Two people edit one recipe, each on a train without a network, and both keep what they wrote. `swift run TwoCooks`
@main struct TwoCooks {
    static func main() async throws {
        let server = try SyncServer(ServerConfiguration(port: 0, isDevelopment: true))
        let url = "ws://127.0.0.1:\(try server.start())/kitchen"
        let ada = try await openKitchen(url)
        let ben = try await openKitchen(url)

        print("Ada writes a recipe, and Ben has it.")
        let bread = Recipe(name: "bread", steps: ["Mix", "Bake", "Knead"], tags: ["vegan"])
        try await ada.write { try $0.insert(bread) }
        try await ada.uploaded(timeout: .seconds(30))
        let observers = try [ada, ben].map { try $0.objects(Recipe.self).observe { _ in } }
        _ = try await ben.objects(Recipe.self).synced(timeout: .seconds(30))
        show(try recipe(of: ben), "Ben")

        print("Both lose the network.")
        for store in [ada, ben] { try store.session?.pause() }
        try await ada.write { transaction in
            try transaction.update(bread) { recipe in
                recipe.steps.append("Let it rise")
                recipe.tags.insert("slow")
            }
            try transaction.increment(bread, \.servings, by: 2)
        }
        try await ben.write { transaction in
            try transaction.insert(bread, \.steps, "Preheat the oven", at: 0)
            try transaction.move(bread, \.steps, from: 2, to: 3)
            try transaction.update(bread) { $0.steps.append("Eat") }
            try transaction.increment(bread, \.servings, by: 1)
        }
        show(try recipe(of: ada), "Ada")
        show(try recipe(of: ben), "Ben")

        print("Both come back.")
        for store in [ada, ben] { try store.session?.resume() }
        for store in [ada, ben] { try await store.uploaded(timeout: .seconds(30)) }
        for store in [ada, ben] {
            // Until what the other wrote has come.
            for try await _ in store.objects(Recipe.self).changes where try recipe(of: store)?.servings == 5 { break }
        }
        show(try recipe(of: ada), "Ada")
        show(try recipe(of: ben), "Ben")

        for observer in observers { observer.stop() }
        for store in [ada, ben] { await store.close() }
        await server.stop()
    }

    private static func openKitchen(_ url: String) async throws -> Store {
        try await Store.open(StoreConfiguration(models: [Recipe.self], sync: SyncConfiguration(url: url)))
    }

    private static func recipe(of store: Store) throws -> Recipe? { try store.objects(Recipe.self).fetch().first }

    private static func show(_ recipe: Recipe?, _ name: String) {
        guard let recipe else { return print("  \(name) has no recipe") }
        print("  \(name) has", recipe.steps.joined(separator: ", "), "for \(recipe.servings):", recipe.tags.sorted())
    }
}
