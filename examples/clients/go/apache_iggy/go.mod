module wireproof-drivers/apache_iggy

go 1.25.0

require (
	github.com/apache/iggy/foreign/go v0.9.0-edge.4
	wireproof-drivers v0.0.0
)

replace wireproof-drivers => ../
