import Sluice

@Model struct Recipe {
    @PrimaryKey var name: String
    var servings = 2
    var steps: [String] = []
    var tags: Set<String> = []
}
