import Sluice

/// Six columns and a text key.
@Model struct Car {
    @PrimaryKey var vin: String
    var name = ""
    var price = 0.0
    var views = 0
    var color = ""
    var year = 0

    private static let names = ["Toyota", "Renault", "Skoda", "Volvo", "Fiat", "Mazda", "Honda"]
    private static let colors = ["red", "white", "black", "silver", "blue"]

    /// The car with a number: always the same one.
    static func numbered(_ number: Int) -> Car {
        let mixed = Mixer.mix(number)
        let digits = String(number)
        return Car(
            vin: "JT2" + String(repeating: "0", count: 9 - digits.count) + digits,
            name: names[Int(mixed % 7)], price: Double(mixed >> 8 % 4_000_000) / 100, views: Int(mixed >> 32 % 1000),
            color: colors[Int(mixed >> 16 % 5)], year: 1990 + Int(mixed >> 24 % 35))
    }

    static func numbered(_ numbers: Range<Int>) -> [Car] { numbers.map { numbered($0) } }
}

/// A car without a key of its own.
@Model struct Listing {
    var title = ""
    var name = ""
    var price = 0.0
    var views = 0
    var color = ""
    var year = 0

    init(_ car: Car) {
        title = car.vin
        name = car.name
        price = car.price
        views = car.views
        color = car.color
        year = car.year
    }
}
